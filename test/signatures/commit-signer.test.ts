/** Commits of the API are signed so that git itself, of any clone, says "Good". */

import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linksOfCommit } from '../../src/git/objects/commit-object.ts';
import { openCommitSigner } from '../../src/signatures/commit-signer.ts';
import { parseSignedCommit } from '../../src/signatures/signed-commit.ts';
import { commitOf, expectSound, git, openForTest, publish } from '../support/git.ts';
import { openTestPlatform, team } from '../support/platform.ts';
import { allowedSigners, gitSaysGood, type SshKey, sshKey } from './keys.ts';

let folder: string;
let key: SshKey;
let signers: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gitplane-signer-'));
  key = sshKey(folder, 'daemon');
  signers = allowedSigners(folder, `gitplane@example.com namespaces="git" ${key.publicLine}`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('every commit of a batch', () => {
  test('is good to git, whatever its message and author hold', async () => {
    const { sign } = await openCommitSigner(key.file);
    const repository = await openForTest({ sign });
    const messages = ['one', 'two\n\n-----BEGIN SSH SIGNATURE-----\n', 'gpgsig x\n\nü\0', ''];
    const author = { name: 'Åsa\ngpgsig <x>', email: 'asa@example.com' };

    const ids = await publish(
      repository,
      ...messages.map((message, i) => commitOf({ [`${i}.txt`]: 'x' }, { message, author })),
    );

    const good = ids.map((id) => gitSaysGood(repository.gitDir, id, signers));
    expect(good).toEqual(messages.map(() => true));
    expectSound(repository.gitDir);
  });

  test('reads like one that is not signed', async () => {
    const { sign } = await openCommitSigner(key.file);
    const repository = await openForTest({ sign });
    const [first = '', second = ''] = await publish(
      repository,
      commitOf({ a: '1' }),
      commitOf({ a: '2' }, { time: 1_700_000_005 }),
    );

    const [content = Buffer.alloc(0)] = await repository.readCommits([second]);
    expect(linksOfCommit(content)).toEqual({
      tree: expect.any(String),
      parents: [first],
      committerTime: 1_700_000_005,
    });
    const ids: string[] = [];
    for await (const commit of repository.history(undefined, second)) ids.push(commit.id);
    expect(ids).toEqual([first, second]);
    expect(await repository.rootCommit(second)).toBe(first);
  });
});

test('writes through the API of every kind are signed', async () => {
  const { sign } = await openCommitSigner(key.file);
  const platform = await openTestPlatform({ repository: await openForTest({ sign }) });
  await platform.create('teams', { metadata: { name: 'a' } });
  await platform.patch('teams', 'a', (object) => {
    object.spec = { displayName: 'A' };
  });
  await platform.delete('teams', 'a');
  await platform.commit({ 'b.yaml': team('b') });

  const { gitDir } = platform.repository;
  const ids = git(gitDir, ['rev-list', 'main']).split('\n');
  expect(ids).toHaveLength(4);
  expect(ids.filter((id) => !gitSaysGood(gitDir, id, signers))).toEqual([]);
  const log = git(gitDir, [
    '-c',
    `gpg.ssh.allowedSignersFile=${signers}`,
    'log',
    '--format=%G? %GS',
  ]);
  expect(log.split('\n')).toEqual(ids.map(() => 'G gitplane@example.com'));
});

test.each([
  ['ecdsa', '256'],
  ['ecdsa', '384'],
  ['ecdsa', '521'],
  ['rsa', '3072'],
])('a key of type %s %s signs commits that git finds good', async (type, bits) => {
  const other = sshKey(folder, type + bits, type, bits);
  const { sign } = await openCommitSigner(other.file);
  const repository = await openForTest({ sign });
  const [id = ''] = await publish(repository, commitOf({ a: '1' }));
  const list = join(folder, `${type}${bits}.signers`);
  writeFileSync(list, `x@example.com ${other.publicLine}\n`);

  expect(gitSaysGood(repository.gitDir, id, list)).toBe(true);
  expect(gitSaysGood(repository.gitDir, id, signers)).toBe(false);
});

test('the signed bytes are those of the commit without its signature', async () => {
  const { sign } = await openCommitSigner(key.file);
  const signed = await openForTest({ sign });
  const plain = await openForTest();
  const [id = ''] = await publish(signed, commitOf({ a: '1' }));
  const [without = ''] = await publish(plain, commitOf({ a: '1' }));

  const [content = Buffer.alloc(0)] = await signed.readCommits([id]);
  const [expected] = await plain.readCommits([without]);
  expect(parseSignedCommit(content).payload).toEqual(expected);
});

describe('a signing key that cannot be used is refused with its file and a remedy:', () => {
  const file = (name: string): string => join(folder, name);

  test('a key file that others may read', async () => {
    copyFileSync(key.file, file('open'));
    chmodSync(file('open'), 0o640);

    await expect(openCommitSigner(file('open'))).rejects.toThrow(
      `${file('open')} is accessible to other users (mode 640); run \`chmod 600\` on it`,
    );
  });

  test('a key with a passphrase', async () => {
    const args = ['-q', '-t', 'ed25519', '-N', 'secret', '-f', file('locked')];
    execFileSync('ssh-keygen', args);

    await expect(openCommitSigner(file('locked'))).rejects.toThrow(
      /locked: it has a passphrase, .*; make a key with `ssh-keygen -t ed25519 -N '' -f FILE`$/,
    );
  });

  test('none at all', async () => {
    await expect(openCommitSigner(file('missing'))).rejects.toThrow(/missing: ENOENT/);
  });

  test.each([
    ['public', () => `${key.publicLine}\n`, /it is not a private key of OpenSSH/],
    [
      'pem',
      () => '-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n',
      /not a private key/,
    ],
    ['empty', () => '', /not a private key/],
    [
      'cut',
      () => readFileSync(key.file, 'utf8').replace(/\n[^\n]*\n(?=-----END)/, '\n'),
      /truncated|damaged/,
    ],
  ])('a file that is %s', async (name, text, why) => {
    writeFileSync(file(name), text(), { mode: 0o600 });

    await expect(openCommitSigner(file(name))).rejects.toThrow(why);
  });

  test('a key with halves of two keys', async () => {
    const other = sshKey(folder, 'other');
    const [ours, theirs] = [key, other].map(({ file: path }) =>
      Buffer.from(readFileSync(path, 'utf8').split('\n').slice(1, -2).join(''), 'base64'),
    );
    const blob = Buffer.from(key.publicLine.split(' ')[1] ?? '', 'base64');
    const mixed = Buffer.from(theirs ?? Buffer.alloc(0));
    ours?.copy(
      mixed,
      mixed.indexOf(blob.subarray(0, 15)),
      ours.indexOf(blob),
      ours.indexOf(blob) + blob.length,
    );
    const lines = mixed.toString('base64').replace(/.{70}/g, '$&\n');
    const text = `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines}\n-----END OPENSSH PRIVATE KEY-----\n`;
    writeFileSync(file('mixed'), text, { mode: 0o600 });

    await expect(openCommitSigner(file('mixed'))).rejects.toThrow(/do not match/);
  });
});
