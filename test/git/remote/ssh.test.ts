/** A branch that is followed over SSH, with a real sshd at the other end. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commitOf, expectSound, publish } from '../../support/git.ts';
import { elsewhere, follow, proxyTo } from '../../support/remote.ts';
import { SSHD, type SshServer, startSshd } from '../../support/sshd.ts';

const title =
  SSHD === undefined ? 'over SSH (SKIPPED: sshd is missing, install openssh-server)' : 'over SSH';

describe.skipIf(SSHD === undefined)(title, () => {
  let sshd: SshServer;

  beforeAll(async () => {
    sshd = await startSshd();
  });

  afterAll(async () => {
    await sshd?.stop();
  });

  const access = () => ({ sshKeyFile: sshd.keyFile, knownHostsFile: sshd.knownHostsFile });

  test('fetches and pushes with a key, from a host that is known', async () => {
    const there = elsewhere();
    const url = `${sshd.url}${there.gitDir}`;
    const { repository, following, gitDir } = await follow({ url, access: access() });
    const second = there.commit({ more: '2' });
    expect(await following.refresh()).toBe(second);
    const [id] = await publish(repository, commitOf({ a: '1' }));
    expect(there.head()).toBe(id);
    expectSound(gitDir);
  });

  test.each([
    ['a host that is not known', 'identity', () => ({ ...access(), knownHostsFile: '/dev/null' })],
    [
      'a host with another key than the known one',
      'identity',
      () => ({ ...access(), knownHostsFile: sshd.wrongKnownHostsFile }),
    ],
    [
      'a key that may not log in',
      'credentials',
      () => ({ ...access(), sshKeyFile: sshd.strangerKeyFile }),
    ],
    ['a path that is no repository', 'no-repository', access],
  ])('%s is an error of its own', async (_what, problem, given) => {
    const there = elsewhere();
    const path = problem === 'no-repository' ? '/nowhere.git' : there.gitDir;
    const failure = follow({ url: `${sshd.url}${path}`, access: given() });
    await expect(failure).rejects.toMatchObject({ problem });
  });

  test('a server that is gone is unreachable, and used again when it is back', async () => {
    const there = elsewhere();
    const url = `${sshd.url}${there.gitDir}`;
    const { repository, following } = await follow({ url, access: access() });
    await sshd.stop();
    await expect(following.refresh()).rejects.toMatchObject({ problem: 'unreachable' });
    await expect(publish(repository, commitOf({ a: '1' }))).rejects.toMatchObject({
      problem: 'unreachable',
    });
    await sshd.start();
    const [id] = await publish(repository, commitOf({ a: '1' }));
    expect(there.head()).toBe(id);
  });

  test('a connection that ends after the push was sent: the remote is asked', async () => {
    const there = elsewhere();
    const proxy = await proxyTo(sshd.port);
    // The host key is known by the port of the server.
    const url = `${sshd.url}${there.gitDir}`.replace(`:${sshd.port}`, `:${proxy.port}`);
    const knownHostsFile = `${sshd.knownHostsFile}-proxy`;
    const known = readFileSync(sshd.knownHostsFile, 'utf8');
    writeFileSync(knownHostsFile, known.replace(`:${sshd.port}`, `:${proxy.port}`));
    const { repository } = await follow({ url, access: { ...access(), knownHostsFile } });
    const before = there.head();
    let cuts = 0;
    // Everything is encrypted: it is cut as soon as the remote has the commit.
    proxy.onAnswer = (_bytes, cut) => {
      if (cuts > 0 || there.head() === before) return;
      cuts += 1;
      cut();
    };
    const [id] = await publish(repository, commitOf({ a: '1' }));
    expect(cuts).toBe(1);
    expect(there.head()).toBe(id);
    expect(await repository.head()).toBe(id);
  });
});

describe('options of ssh', () => {
  test.each(['/a"b', '/a$HOME', '/a%h', "/a'b", '/a\\b'])(
    'a path like %j is refused rather than expanded',
    async (sshKeyFile) => {
      const failure = follow({ url: 'git@127.0.0.1:x.git', access: { sshKeyFile } });
      await expect(failure).rejects.toThrow('ssh cannot use the file name');
    },
  );
});
