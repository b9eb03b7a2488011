/** A mirror that follows a branch elsewhere, by path and over HTTP(S), with real git on both ends. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startLauncher } from '../../../src/git/process/launcher.ts';
import { DEFAULT_MEMORY_MIB, limitGitMemory } from '../../../src/git/process/process-limits.ts';
import { stopFollowing } from '../../../src/git/remote/following.ts';
import { RemoteError } from '../../../src/git/remote/remote-error.ts';
import { HeadMovedError } from '../../../src/git/repository.ts';
import { toStatusError } from '../../../src/server/errors.ts';
import {
  commitOf,
  expectSound,
  filesOf,
  git,
  openForTest,
  publish,
  temporaryFolder,
} from '../../support/git.ts';
import { basic, elsewhere, follow, proxyTo, serveGit } from '../../support/remote.ts';

const TOKEN = 'tok-3n-S3cret/+';

// As in the daemon.
beforeAll(() => startLauncher());

describe('fetching', () => {
  test('starts with the history of the remote and follows pushes of others', async () => {
    const there = elsewhere();
    const { following, repository, gitDir } = await follow({ url: there.gitDir });
    expect(await repository.head()).toBe(there.head());

    const second = there.commit({ more: '2' });
    expect(await repository.head()).not.toBe(second);
    expect(await following.refresh()).toBe(second);
    expect(await repository.head()).toBe(second);
    expect(filesOf(gitDir, 'main')).toEqual({ start: '1', more: '2' });
    expectSound(gitDir);
  });

  test.runIf(process.platform === 'linux')(
    'a fetch that meets the memory limit of git is refused with the limit and its remedy',
    async () => {
      const there = elsewhere();
      const { following, repository } = await follow({ url: there.gitDir });
      const before = await repository.head();
      there.commit({ large: 'x'.repeat(200 * 1024 * 1024) });
      limitGitMemory(64);
      onTestFinished(() => limitGitMemory(DEFAULT_MEMORY_MIB));
      const refused = await following.refresh().catch((error: unknown) => error);

      expect(refused).toMatchObject({ problem: 'limit' });
      expect(String(refused)).toMatch(
        /git fetch needs more than its memory limit of 64 MiB\..*--git-memory/,
      );
      expect(await repository.head()).toBe(before);
      const { status, unexpected } = toStatusError(refused);
      expect(status).toMatchObject({ code: 503, message: expect.stringContaining('--git-memory') });
      expect(unexpected).toBe(false);
    },
  );

  test('fetches over HTTPS with a token in a file, which may change while it runs', async () => {
    const there = elsewhere();
    const server = await serveGit({
      gitDir: there.gitDir,
      tls: true,
      authorization: basic('git', TOKEN),
    });
    const tokenFile = join(temporaryFolder(), 'token');
    writeFileSync(tokenFile, `${TOKEN}\n`);
    const access = { tokenFile, caFile: server.caFile };
    const { following, repository } = await follow({ url: server.url, access });
    expect(await repository.head()).toBe(there.head());

    writeFileSync(tokenFile, 'another\n');
    await expect(following.refresh()).rejects.toThrow('does not accept the credentials');
    writeFileSync(tokenFile, TOKEN);
    await following.refresh();
  });

  test('fetches over HTTPS with a client certificate', async () => {
    const there = elsewhere();
    const { gitDir } = there;
    const server = await serveGit({ gitDir, tls: true, asksForCertificate: true });
    const { url, caFile, client } = server;
    await expect(follow({ url, access: { caFile } })).rejects.toThrow(RemoteError);

    const { repository, following } = await follow({ url, access: { caFile, ...client } });
    expect(await repository.head()).toBe(there.head());
    const second = there.commit({ more: '2' });
    expect(await following.refresh()).toBe(second);
    const missing = { ...client, clientKeyFile: '/nowhere/client.key' };
    await expect(follow({ url, access: { caFile, ...missing } })).rejects.toThrow(
      'Cannot read /nowhere/client.key (ENOENT)',
    );
  });

  test.each([
    ['basic, from the URL', { user: `ann:${encodeURIComponent(TOKEN)}@` }, basic('ann', TOKEN), {}],
    ['basic', { user: '' }, basic('ann', TOKEN), { username: 'ann', token: TOKEN }],
    ['bearer', { user: '' }, `Bearer ${TOKEN}`, { token: TOKEN, tokenType: 'bearer' as const }],
  ])('sends credentials: %s', async (_how, { user }, authorization, access) => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir, authorization });
    const url = server.url.replace('://', `://${user}`);
    const { repository, following, gitDir } = await follow({ url, access });
    expect(await repository.head()).toBe(there.head());
    expect(following.url).toBe(server.url);
    // Neither the configuration nor any other file of the mirror has heard of it.
    const { status } = grep(gitDir, TOKEN);
    expect(status).toBe(1);
  });

  test.skipIf(process.platform !== 'linux')('no token is an argument of any process', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const proxy = await proxyTo(server.port);
    const commands: string[] = [];
    proxy.onRequest = () => {
      commands.push(...commandLines());
    };
    const url = `http://ann:${encodeURIComponent(TOKEN)}@127.0.0.1:${proxy.port}/elsewhere.git`;
    const { repository } = await follow({ url, access: { token: TOKEN } });
    await publish(repository, commitOf({ a: '1' }));
    expect(commands.some((line) => line.includes('git\0push'))).toBe(true);
    const secrets = [TOKEN, encodeURIComponent(TOKEN), basic('ann', TOKEN).slice(6)];
    for (const secret of secrets) {
      expect(commands.filter((line) => line.includes(secret))).toEqual([]);
    }
  });

  test.each([
    [
      'wrong credentials',
      'credentials',
      { authorization: basic('git', 'right') },
      { token: TOKEN },
    ],
    ['no credentials', 'credentials', { authorization: basic('git', 'right') }, {}],
    ['an authority that nobody trusts', 'identity', { tls: true }, { token: TOKEN }],
  ])('%s are told apart, and no secret is in the words', async (_what, problem, server, access) => {
    const there = elsewhere();
    const { url } = await serveGit({ gitDir: there.gitDir, ...server });
    const failure = await follow({ url: url.replace('://', '://ann:pa55word@'), access }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(RemoteError);
    expect((failure as RemoteError).problem).toBe(problem);
    expect(String(failure)).not.toMatch(/pa55word|tok-3n/);
  });

  test('a redirect is not followed: it would take the credentials along', async () => {
    const there = elsewhere();
    const real = await serveGit({ gitDir: there.gitDir });
    const server = await serveGit({
      gitDir: there.gitDir,
      redirectTo: `http://127.0.0.1:${real.port}`,
    });
    const redirected = { problem: 'redirected', detail: `${real.url}/info/refs` };
    const start = follow({ url: server.url, access: { token: TOKEN } });
    await expect(start).rejects.toMatchObject(redirected);
    expect(real.requests).toEqual([]);
  });

  test.each([
    ['no such repository', '/nowhere/at-all.git', 'no-repository'],
    ['nobody listens', 'http://127.0.0.1:1/x.git', 'unreachable'],
  ])('%s', async (_what, url, problem) => {
    await expect(follow({ url })).rejects.toMatchObject({ problem });
  });

  test('a branch that is not there is an error that names those that are', async () => {
    const there = elsewhere();
    git(there.gitDir, ['branch', '-m', 'main', 'trunk']);
    await expect(follow({ url: there.gitDir })).rejects.toThrow('refs/heads/main; it has trunk');
  });

  test('an empty remote is not given a first commit', async () => {
    const there = elsewhere({});
    await expect(follow({ url: there.gitDir })).rejects.toThrow('make the first commit there');
    expect(there.head()).toBeUndefined();
  });

  test('a rewritten history is followed, and the old one is kept', async () => {
    const there = elsewhere();
    const { following, repository, gitDir } = await follow({ url: there.gitDir });
    const old = there.commit({ more: '2' });
    await following.refresh();
    git(there.gitDir, ['update-ref', 'refs/heads/main', 'main~1']);
    const other = there.commit({ other: '3' });

    expect(await following.refresh()).toBe(other);
    expect(await repository.head()).toBe(other);
    expect(git(gitDir, ['rev-parse', `refs/gitplane/kept/${old}`])).toBe(old);
    // Once is enough.
    await following.refresh();
    expectSound(gitDir);
  });

  test('a branch that disappears leaves the mirror as it is', async () => {
    const there = elsewhere();
    const { following, repository } = await follow({ url: there.gitDir, outcomeTimeoutMs: 2_000 });
    const head = await repository.head();
    git(there.gitDir, ['update-ref', '-d', 'refs/heads/main']);
    await expect(following.refresh()).rejects.toMatchObject({ problem: 'no-branch' });
    expect(await repository.head()).toBe(head);
    await expect(publish(repository, commitOf({ a: '1' }))).rejects.toThrow(RemoteError);
    expect(there.head()).toBeUndefined();
  });

  test.each(['blob', 'tree', 'tag'])('a branch that is at a %s is not followed', async (type) => {
    const there = elsewhere();
    const { following, repository, gitDir, events } = await follow({ url: there.gitDir });
    const before = await repository.head();
    const inRepository = (...args: string[]): string => git(there.gitDir, args).trim();
    inRepository('-c', 'user.name=a', '-c', 'user.email=a@b', 'tag', '-am', 'a tag', 'tag', 'main');
    const of = { blob: 'main:start', tree: 'main^{tree}', tag: 'tag' }[type] ?? '';
    const id = inRepository('rev-parse', of);
    // Git itself refuses it.
    writeFileSync(join(there.gitDir, 'refs/heads/main'), `${id}\n`);

    for (const _ of [1, 2]) {
      const refused = await following.refresh().catch((error: unknown) => error);
      expect(refused).toMatchObject({ problem: 'no-commit', detail: `${id} is a ${type}` });
      expect(events.fetched.at(-1)).toBe(refused);
    }
    expect(git(gitDir, ['rev-parse', 'main']).trim()).toBe(before);
    writeFileSync(join(there.gitDir, 'refs/heads/main'), `${before}\n`);
    expect(await following.refresh()).toBe(before);
  });

  test('a fetch that was killed leaves no lock that stops the next', async () => {
    const there = elsewhere();
    const { following, gitDir } = await follow({ url: there.gitDir });
    writeFileSync(join(gitDir, 'refs/gitplane/remote/main.lock'), '');
    const second = there.commit({ more: '2' });
    expect(await following.refresh()).toBe(second);
  });
});

describe('starting again', () => {
  test('works without the remote, from the last fetched commit', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const first = await follow({ url: server.url });
    await server.stop();
    const again = await follow({ url: server.url, gitDir: first.gitDir });
    expect(again.problem).toMatchObject({ problem: 'unreachable' });
    expect(await again.repository.head()).toBe(there.head());
    await server.start();
    await again.following.refresh();
  });

  test('a hosted repository with commits of its own is not taken over', async () => {
    const there = elsewhere();
    const { gitDir, head } = elsewhere({ mine: '1' });
    const before = head();
    await expect(follow({ url: there.gitDir, gitDir })).rejects.toThrow(
      `has commits that ${there.gitDir} does not have`,
    );
    expect(head()).toBe(before);
  });

  test('keeps a mirror that was written without its remote', async () => {
    const there = elsewhere();
    const { gitDir } = await follow({ url: there.gitDir });
    stopFollowing(gitDir);
    git(gitDir, [
      'update-ref',
      'refs/heads/main',
      git(gitDir, ['commit-tree', '-p', 'main', '-m', 'x', 'main^{tree}']),
    ]);
    await expect(follow({ url: there.gitDir, gitDir })).rejects.toThrow('has commits that');
  });

  test('a hosted repository that the remote knows already becomes a mirror', async () => {
    const there = elsewhere();
    const gitDir = join(temporaryFolder(), 'clone.git');
    git('/', ['clone', '-q', '--bare', there.gitDir, gitDir]);
    const second = there.commit({ more: '2' });
    const { repository } = await follow({ url: there.gitDir, gitDir });
    expect(await repository.head()).toBe(second);
  });
});

describe('writing', () => {
  test('commits are at the remote before the branch moves, many with one push', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const { repository, gitDir, events } = await follow({ url: server.url });
    server.requests.length = 0;
    const ids = await publish(repository, commitOf({ a: '1' }), commitOf({ b: '2' }));
    expect(there.head()).toBe(ids[1]);
    expect(await repository.head()).toBe(ids[1]);
    expect(events.pushed).toEqual([undefined]);
    expect(server.requests.filter((line) => /^POST.*receive-pack/.test(line))).toHaveLength(1);
    expect(readdirSync(join(gitDir, 'gitplane'))).toEqual(['follows']);
    expectSound(gitDir);
    expectSound(there.gitDir);
  });

  test('the branch follows pushes of others that came first, and overwrites nothing', async () => {
    const there = elsewhere();
    const { repository, gitDir } = await follow({ url: there.gitDir });
    const theirs = there.commit({ theirs: '1' });
    await expect(publish(repository, commitOf({ ours: '1' }))).rejects.toThrow(HeadMovedError);
    expect(there.head()).toBe(theirs);
    expect(await repository.head()).toBe(theirs);
    const [ours] = await publish(repository, commitOf({ ours: '1' }));
    expect(there.head()).toBe(ours);
    expect(filesOf(gitDir, 'main')).toEqual({ start: '1', theirs: '1', ours: '1' });
  });

  test.each([
    ['the commit itself', false],
    ['the commit and a push of others on top', true],
  ])('a fetch that moves the branch to %s first leaves the write a success', async (_, isMore) => {
    const there = elsewhere();
    const { following, gitDir } = await follow({ url: there.gitDir });
    let later: string | undefined;
    const repository = await openForTest({
      gitDir,
      gate: async (publication, objects) => {
        await following.admit(publication, objects);
        if (isMore) later = there.commit({ theirs: '1' });
        await following.refresh();
      },
    });
    const [ours] = await publish(repository, commitOf({ ours: '1' }));
    expect(await repository.head()).toBe(later ?? ours);
    expect(there.head()).toBe(later ?? ours);
    const theirs = isMore ? { theirs: '1' } : {};
    expect(filesOf(gitDir, 'main')).toEqual({ start: '1', ours: '1', ...theirs });
    expect(readdirSync(join(gitDir, 'gitplane'))).toEqual(['follows']);
    expectSound(gitDir);
  });

  test('a remote that went back is not pushed forward again', async () => {
    const there = elsewhere();
    const { repository, following } = await follow({ url: there.gitDir });
    there.commit({ bad: '1' });
    await following.refresh();
    git(there.gitDir, ['update-ref', 'refs/heads/main', 'main~1']);
    const back = there.head();
    await expect(publish(repository, commitOf({ ours: '1' }))).rejects.toThrow(HeadMovedError);
    expect(there.head()).toBe(back);
  });

  test('a protected branch fails with the message of the remote', async () => {
    const there = elsewhere();
    const hook = join(there.gitDir, 'hooks/pre-receive');
    mkdirSync(join(there.gitDir, 'hooks'));
    writeFileSync(
      hook,
      '#!/bin/sh\nprintf "GH006: Protected branch \\033[31mupdate failed\\n" >&2\nexit 1\n',
      { mode: 0o755 },
    );
    const { repository, gitDir } = await follow({ url: there.gitDir });
    const head = await repository.head();
    const failure = publish(repository, commitOf({ a: '1' }));
    await expect(failure).rejects.toMatchObject({
      problem: 'refused',
      detail: 'GH006: Protected branch update failed',
    });
    expect(await repository.head()).toBe(head);
    expect(there.head()).toBe(head);
    expect(
      readdirSync(join(gitDir, 'objects/pack')).filter((name) => name.startsWith('tmp_')),
    ).toEqual([]);
  });

  test('403 for the push alone is a refusal', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const { repository } = await follow({ url: server.url, access: { token: TOKEN } });
    server.refuseWith = 403;
    await expect(publish(repository, commitOf({ a: '1' }))).rejects.toMatchObject({
      problem: 'refused',
    });
  });
});

describe('a remote that fails', () => {
  test('refuses writes and loses none; it works again without any help', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const { repository, following } = await follow({ url: server.url });
    const head = await repository.head();
    await server.stop();
    const lost = publish(repository, commitOf({ a: '1' }));
    await expect(lost).rejects.toMatchObject({ problem: 'unreachable' });
    await expect(following.refresh()).rejects.toMatchObject({ problem: 'unreachable' });
    expect(await repository.head()).toBe(head);
    await server.start();
    const [id] = await publish(repository, commitOf({ a: '1' }));
    expect(there.head()).toBe(id);
  });

  test('writes do not wait for the timeouts of a silent remote', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const { repository, following } = await follow({ url: server.url, pauseMs: 60_000 });
    await server.stop();
    await expect(publish(repository, commitOf({ a: '1' }))).rejects.toThrow(RemoteError);
    await server.start();
    server.requests.length = 0;
    await expect(publish(repository, commitOf({ a: '1' }))).rejects.toThrow(RemoteError);
    expect(server.requests).toEqual([]);
    // A fetch finds out that it is back.
    await following.refresh();
    await publish(repository, commitOf({ a: '1' }));
  });

  test('a connection that is dropped before anything was sent is tried again at once', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const proxy = await proxyTo(server.port);
    const url = server.url.replace(String(server.port), String(proxy.port));
    const { repository } = await follow({ url });
    let dropped = 0;
    proxy.onRequest = (_bytes, cut) => {
      dropped += 1;
      if (dropped === 1) cut();
    };
    const [id] = await publish(repository, commitOf({ a: '1' }));
    expect(there.head()).toBe(id);

    dropped = 0;
    proxy.onRequest = (_bytes, cut) => {
      dropped += 1;
      cut();
    };
    // Nothing was sent, so that nothing has to be asked after for a minute.
    const lost = publish(repository, commitOf({ b: '1' }));
    await expect(lost).rejects.toMatchObject({ problem: 'unreachable' });
    expect(dropped).toBe(2);
  });

  test('a hanging remote is abandoned, and the error states if anything was sent', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const proxy = await proxyTo(server.port);
    const url = server.url.replace(String(server.port), String(proxy.port));
    // The deadline of a push is longer than the test: a query finds out that it hangs.
    const timeouts = { queryMs: 60_000, pushMs: 60_000 };
    const { repository, following } = await follow({ url, timeouts, outcomeTimeoutMs: 1_000 });
    const head = await repository.head();
    let hangs = false;
    proxy.onRequest = (bytes) => {
      hangs ||= bytes.includes('POST ') && bytes.includes('git-receive-pack');
      return hangs ? new Promise(() => undefined) : undefined;
    };
    const sent = publish(repository, commitOf({ a: '1' }));
    const words = 'neither a push nor a query is answered';
    await expect(sent).rejects.toMatchObject({ problem: 'unknown-outcome', detail: words });
    proxy.onRequest = () => new Promise(() => undefined);
    const unsent = publish(repository, commitOf({ a: '1' }));
    await expect(unsent).rejects.toMatchObject({ problem: 'unreachable', detail: words });
    expect(await repository.head()).toBe(head);
    await following.close();
  });

  test('a remote that answers a query and hangs later is abandoned', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const proxy = await proxyTo(server.port);
    const url = server.url.replace(String(server.port), String(proxy.port));
    const timeouts = { queryMs: 60_000, pushMs: 60_000 };
    const { repository, following } = await follow({ url, timeouts, outcomeTimeoutMs: 5_000 });
    let queries = 0;
    proxy.onRequest = (bytes) => {
      if (bytes.includes('GET ') && bytes.includes('git-upload-pack')) queries += 1;
      const isPush = bytes.includes('POST ') && bytes.includes('git-receive-pack');
      return isPush || queries > 1 ? new Promise(() => undefined) : undefined;
    };
    await expect(publish(repository, commitOf({ a: '1' }))).rejects.toMatchObject({
      problem: 'unknown-outcome',
      detail: 'neither a push nor a query is answered',
    });
    expect(queries).toBe(2);
    await following.close();
  });

  test('a fetch from one that hangs waits as long as for a question', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const proxy = await proxyTo(server.port);
    const url = server.url.replace(String(server.port), String(proxy.port));
    const timeouts = { queryMs: 300, fetchMs: 60_000 };
    const { following } = await follow({ url, timeouts });
    proxy.onRequest = () => new Promise(() => undefined);
    await expect(following.refresh()).rejects.toMatchObject({ problem: 'unreachable' });
  });

  test('a slow push to a remote that answers is waited for', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const { repository } = await follow({ url: server.url, outcomeTimeoutMs: 10_000 });
    // The hook goes on once the remote was asked.
    mkdirSync(join(there.gitDir, 'hooks'));
    const asked = join(temporaryFolder(), 'asked');
    const hook = `#!/bin/sh\nuntil test -e ${asked}; do sleep 0.05; done\n`;
    writeFileSync(join(there.gitDir, 'hooks/pre-receive'), hook, { mode: 0o755 });
    server.onRequest = (line) => {
      if (line.startsWith('POST') && line.endsWith('git-upload-pack')) writeFileSync(asked, '');
    };
    const [id] = await publish(repository, commitOf({ a: '1' }));
    expect(there.head()).toBe(id);
  });

  test.each(['<html>Sign in</html>', '<!doctype html>\n<html>\n<title>Sign in</title>\n</html>\n'])(
    'a web page is called that, and nothing is believed of it: %j',
    async (page) => {
      const there = elsewhere();
      const server = await serveGit({ gitDir: there.gitDir });
      const { repository, following } = await follow({ url: server.url, outcomeTimeoutMs: 5_000 });
      const head = await repository.head();
      server.page = page;
      await expect(following.refresh()).rejects.toMatchObject({ problem: 'web-page' });
      const write = publish(repository, commitOf({ a: '1' }));
      await expect(write).rejects.toThrow('A web page, and not git, answers at the address');
      await expect(follow({ url: server.url })).rejects.toMatchObject({ problem: 'web-page' });
      server.page = undefined;
      // A push that a page answers may have arrived.
      server.onRequest = (line) => {
        if (line.startsWith('POST')) server.page = page;
      };
      const sent = publish(repository, commitOf({ a: '1' }));
      await expect(sent).rejects.toMatchObject({ problem: 'unknown-outcome' });
      expect(await repository.head()).toBe(head);
    },
  );

  test('credentials that end after a push was sent leave its outcome unknown', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const proxy = await proxyTo(server.port);
    const url = server.url.replace(String(server.port), String(proxy.port));
    const { repository } = await follow({ url, outcomeTimeoutMs: 5_000 });
    const before = there.head();
    let isPush = false;
    proxy.onRequest = (bytes) => {
      isPush ||= bytes.includes('POST ') && bytes.includes('git-receive-pack');
    };
    proxy.onAnswer = async (_bytes, cut) => {
      if (!isPush || server.refuseWith !== undefined) return;
      await there.movedFrom(before);
      server.refuseWith = 401;
      cut();
    };
    const write = publish(repository, commitOf({ a: '1' }));
    await expect(write).rejects.toMatchObject({ problem: 'unknown-outcome' });
    expect(there.head()).not.toBe(before);
  });

  test('a remote that reports success and moves nothing is not believed', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const { repository } = await follow({ url: server.url, outcomeTimeoutMs: 5_000 });
    const before = there.head();
    const copy = join(temporaryFolder(), 'elsewhere.git');
    cpSync(there.gitDir, copy, { recursive: true });
    server.pushesTo = copy;
    const write = publish(repository, commitOf({ a: '1' }));
    await expect(write).rejects.toMatchObject({
      problem: 'unknown-outcome',
      detail: 'it reported success: its branch does not show the commit',
    });
    expect(await repository.head()).toBe(before);
    expect(there.head()).toBe(before);
    expect(git(copy, ['rev-parse', 'main'])).not.toBe(before);
    server.pushesTo = undefined;
    const [id] = await publish(repository, commitOf({ a: '1' }));
    expect(there.head()).toBe(id);
  });

  test('a push whose answer is lost succeeded: the remote is asked, nothing is sent twice', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const proxy = await proxyTo(server.port);
    const url = server.url.replace(String(server.port), String(proxy.port));
    const { repository } = await follow({ url });
    const before = there.head();
    let cuts = 0;
    let isPush = false;
    proxy.onRequest = (bytes) => {
      if (bytes.includes('POST ') && bytes.includes('git-receive-pack')) isPush = true;
    };
    proxy.onAnswer = async (_bytes, cut) => {
      // curl resends the request by itself: then the branch seems to have been moved by another client.
      if (!isPush || cuts > 0) return;
      cuts += 1;
      await there.movedFrom(before);
      cut();
    };
    const [id] = await publish(repository, commitOf({ a: '1' }));
    expect(cuts).toBe(1);
    expect(there.head()).toBe(id);
    expect(await repository.head()).toBe(id);
    expect(git(there.gitDir, ['rev-list', '--count', 'main'])).toBe('2');
  });

  test('a push that was cut on its way is sent again, as the same commit', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const proxy = await proxyTo(server.port);
    const url = server.url.replace(String(server.port), String(proxy.port));
    const { repository } = await follow({ url });
    let cuts = 0;
    proxy.onRequest = (bytes, cut) => {
      if (cuts > 0 || !bytes.includes('POST ') || !bytes.includes('git-receive-pack')) return;
      cuts += 1;
      cut();
    };
    const [id] = await publish(repository, commitOf({ a: '1' }));
    expect(cuts).toBe(1);
    expect(there.head()).toBe(id);
    expect(git(there.gitDir, ['rev-list', '--count', 'main'])).toBe('2');
  });

  test('a push whose answer is lost, with a push of others on top, succeeded too', async () => {
    const there = elsewhere();
    const server = await serveGit({ gitDir: there.gitDir });
    const proxy = await proxyTo(server.port);
    const url = server.url.replace(String(server.port), String(proxy.port));
    const { repository, following } = await follow({ url });
    const before = there.head();
    let isPush = false;
    let onTop: string | undefined;
    proxy.onRequest = (bytes) => {
      if (bytes.includes('POST ') && bytes.includes('git-receive-pack')) isPush = true;
    };
    proxy.onAnswer = async (_bytes, cut) => {
      if (!isPush || onTop !== undefined) return;
      await there.movedFrom(before);
      onTop = there.commit({ theirs: '1' });
      cut();
    };
    const [id] = await publish(repository, commitOf({ ours: '1' }));
    expect(await repository.head()).toBe(id);
    expect(await following.refresh()).toBe(onTop);
    expect(git(there.gitDir, ['rev-list', '--count', 'main'])).toBe('3');
  });
});

/** Of every process of this machine, arguments apart by NUL. */
function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8')];
      } catch {
        return [];
      }
    });
}

function grep(folder: string, text: string): { status: number | null } {
  return spawnSync('grep', ['-r', '-F', text, folder]);
}
