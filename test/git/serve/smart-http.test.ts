/** Smart HTTP by real git clients through the smallest server there can be. */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  advertiseRefs,
  isGitService,
  serveRpc,
  serviceInput,
} from '../../../src/git/serve/smart-http.ts';
import {
  bareRepository,
  commitOf,
  expectSound,
  filesOf,
  git,
  openForTest,
  publish,
  temporaryFolder,
} from '../../support/git.ts';
import { gitOver, serveRepository } from '../../support/smart-http.ts';

describe.each(['0', '1', '2'])('protocol version %s', (version) => {
  const config = ['-c', `protocol.version=${version}`];

  test('clones, fetches and pushes', async () => {
    const repository = await openForTest();
    const [first] = await publish(repository, commitOf({ 'a/b': '1', c: '2' }));
    const { url, results } = await serveRepository(repository.gitDir);
    const folder = temporaryFolder();
    const clone = join(folder, 'clone');
    expect(await gitOver(folder, [...config, 'clone', '-q', url, 'clone'])).toEqual({
      code: 0,
      stderr: '',
    });
    expect(git(clone, ['rev-parse', 'HEAD'])).toBe(first);

    const [second] = await publish(repository, commitOf({ c: '3' }));
    expect((await gitOver(clone, [...config, 'pull', '-q'])).code).toBe(0);
    expect(git(clone, ['rev-parse', 'HEAD'])).toBe(second);

    // More than http.postBuffer, so that the push is sent in chunks.
    writeFileSync(
      join(clone, 'big'),
      Buffer.from(Array.from({ length: 2_000_000 }, (_, i) => (i * i * 31) >>> 7)),
    );
    git(clone, ['add', '-A']);
    git(clone, ['commit', '-q', '-m', 'big']);
    expect(
      (await gitOver(clone, [...config, '-c', 'http.postBuffer=65536', 'push', '-q'])).code,
    ).toBe(0);
    expect(await repository.head()).toBe(git(clone, ['rev-parse', 'HEAD']));
    expect(results.map(({ result }) => result.code)).toEqual(results.map(() => 0));
    expect(results[0]?.protocol).toBe(version === '0' ? undefined : `version=${version}`);
    expectSound(repository.gitDir);
  });

  test('clones and fills an empty repository', async () => {
    const gitDir = await bareRepository();
    const { url } = await serveRepository(gitDir);
    const folder = temporaryFolder();
    const clone = join(folder, 'clone');
    expect((await gitOver(folder, [...config, 'clone', '-q', url, 'clone'])).code).toBe(0);
    writeFileSync(join(clone, 'a'), '1');
    git(clone, ['add', '-A']);
    git(clone, ['commit', '-q', '-m', 'first']);
    expect((await gitOver(clone, [...config, 'push', '-q', 'origin', 'HEAD:main'])).code).toBe(0);
    expect(filesOf(gitDir, 'main')).toEqual({ a: '1' });
  });
});

test('a partial clone gets trees without blobs', async () => {
  const repository = await openForTest();
  await publish(repository, commitOf({ a: 'content' }));
  const { url } = await serveRepository(repository.gitDir);
  const folder = temporaryFolder();
  const args = ['clone', '-q', '--filter=blob:none', '--no-checkout', url, 'clone'];
  expect(await gitOver(folder, args)).toEqual({ code: 0, stderr: '' });
  const blob = git(repository.gitDir, ['rev-parse', 'main:a']);
  expect(
    git(join(folder, 'clone'), ['rev-list', '--objects', '--missing=print', 'HEAD']),
  ).toContain(`?${blob}`);
});

test.each(['blob:limit=1k', 'tree:0', 'tree:2', 'object:type=tree'])(
  'a partial clone by %s works',
  async (filter) => {
    const repository = await openForTest();
    await publish(repository, commitOf({ 'folder/a': 'content' }));
    const { url } = await serveRepository(repository.gitDir);
    const args = ['clone', '-q', `--filter=${filter}`, '--no-checkout', url, 'clone'];
    expect(await gitOver(temporaryFolder(), args)).toEqual({ code: 0, stderr: '' });
  },
);

test.each(['0', '2'])(
  'filters that cost time or memory are refused (version %s)',
  async (version) => {
    const repository = await openForTest();
    await publish(repository, commitOf({ a: 'content' }));
    const { url } = await serveRepository(repository.gitDir);
    const blob = git(repository.gitDir, ['rev-parse', 'main:a']);
    for (const filters of [[`sparse:oid=${blob}`], ['tree:1', 'blob:none']]) {
      const options = filters.map((filter) => `--filter=${filter}`);
      const args = ['-c', `protocol.version=${version}`, 'clone', '-q', ...options, url, 'clone'];
      const { code, stderr } = await gitOver(temporaryFolder(), args);
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/filter '(?:sparse:oid|combine)' not supported/);
    }
  },
);

test.each([
  [undefined, '001e# service=git-upload-pack\n0000'],
  ['version=1', '001e# service=git-upload-pack\n0000'],
  ['version=2', '000eversion 2\n'],
  ['version=2\nEVIL=1', '001e# service=git-upload-pack\n0000'],
])('the advertisement for %j begins with %j', async (gitProtocol, start) => {
  const repository = await openForTest();
  await publish(repository, commitOf({ a: '1' }));
  const response = new PassThrough();
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  const { code } = await advertiseRefs(
    repository,
    { service: 'git-upload-pack', response },
    { gitProtocol },
  );
  expect(code).toBe(0);
  expect(Buffer.concat(chunks).toString('latin1').slice(0, start.length)).toBe(start);
});

test.each(['git-upload-archive', 'upload-pack', '', 'git-upload-pack/../x'])(
  '%j is no service',
  (name) => {
    expect(isGitService(name)).toBe(false);
  },
);

describe('a compressed request without end is refused while it arrives', () => {
  const OID = '1'.repeat(40);
  const LARGE_PUSH =
    'gitplane: The lists of refs and options of this push are larger than 1 MiB; push fewer refs';
  const line = (text: string): string =>
    `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;

  test.each([
    {
      what: 'of commits that a client has',
      service: 'git-upload-pack',
      first: `${line('command=fetch')}0001`,
      more: line(`have ${OID}\n`),
      message: 'ERR gitplane: The request of a fetch is larger than 8 MiB',
    },
    {
      what: 'of refs that a push moves',
      service: 'git-receive-pack',
      first: line(`${OID} ${OID} refs/heads/a\0report-status side-band-64k`),
      more: line(`${OID} ${OID} refs/heads/b`),
      message: LARGE_PUSH,
    },
    {
      what: 'of options of a push',
      service: 'git-receive-pack',
      first: `${line(`${OID} ${OID} refs/heads/a\0report-status side-band-64k push-options`)}0000`,
      more: line('topic=x'),
      message: LARGE_PUSH,
    },
  ])('$what', async ({ service, first, more, message }) => {
    const { url, results } = await serveRepository(await bareRepository());
    const body = gzipSync(first + more.repeat(1_000_000));
    expect(body.length).toBeLessThan(500_000);
    const headers = { 'content-encoding': 'gzip', 'git-protocol': 'version=2' };
    const answer = await fetch(`${url}/${service}`, { method: 'POST', body, headers });
    expect(await answer.text()).toContain(message);
    await expect.poll(() => results.map(({ result }) => result.code)).toHaveLength(1);
    expect(results[0]?.result.code).not.toBe(0);
  });
});

test.each([undefined, 'gzip'])(
  'a request that ends with an error before it is read does not end the process: encoding %s',
  async (encoding) => {
    const request = new PassThrough();
    const input = serviceInput(request, encoding);
    request.destroy(new Error('the client is gone'));
    await new Promise<void>((done) => input.once('close', done));
    expect(input.errored?.message).toBe('the client is gone');
  },
);

test('a large push of a branch named after a capability lands, with and without options', async () => {
  const repository = await openForTest();
  await publish(repository, commitOf({ a: '1' }));
  const { url } = await serveRepository(repository.gitDir);
  const folder = temporaryFolder();
  expect((await gitOver(folder, ['clone', '-q', url, 'clone'])).code).toBe(0);
  const clone = join(folder, 'clone');
  for (const options of [[], ['-o', 'topic=x']]) {
    writeFileSync(join(clone, 'big'), randomBytes(2_000_000));
    git(clone, ['add', '-A']);
    git(clone, ['commit', '-q', '-m', 'big']);
    const args = ['push', '-q', ...options, 'origin', 'HEAD:refs/heads/push-options'];
    expect(await gitOver(clone, args)).toEqual({ code: 0, stderr: '' });
  }
});

test('nonsense from a client ends with an exit code and its reason', async () => {
  const gitDir = await bareRepository();
  const request = Readable.from(['this is no pkt-line']);
  const response = new PassThrough().resume();
  const { code, stderr } = await serveRpc(
    { gitDir },
    { service: 'git-receive-pack', request, response },
  );
  expect(code).toBe(128);
  expect(stderr).toContain('protocol error');
});

describe('a service ends', () => {
  const waiting = () => new Readable({ read: () => undefined });

  test.each([
    ['before it began', 0],
    ['while it waits', 50],
  ])('a service ends when the request is aborted %s', async (_when, ms) => {
    const gitDir = await bareRepository();
    const abort = new AbortController();
    if (ms === 0) abort.abort();
    else setTimeout(() => abort.abort(), ms);
    const response = new PassThrough().resume();
    const exchange = { service: 'git-receive-pack', request: waiting(), response } as const;
    const { code } = await serveRpc({ gitDir }, exchange, { signal: abort.signal });
    expect(code).toBeNull();
  });

  test('a service ends when the client goes away in the middle of a clone', async () => {
    const repository = await openForTest();
    const noise = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => (i * i * 31) >>> 9));
    const [id] = await publish(repository, commitOf({ big: noise }));
    const want = `want ${id} side-band-64k\n`;
    const pkt = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text;
    const request = Readable.from([`${pkt(want)}0000${pkt('done\n')}`]);
    let received = 0;
    const response = new Writable({
      write(chunk: Buffer, _encoding, done) {
        received += chunk.length;
        done(received > 200_000 ? new Error('gone') : null);
      },
    });
    response.on('error', () => undefined);
    await serveRpc(repository, { service: 'git-upload-pack', request, response });
    // Backpressure: unread output was not buffered in memory.
    expect(received).toBeLessThan(1_000_000);
  });
});
