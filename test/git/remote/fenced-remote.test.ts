/** Two leaders of one platform, and the repository elsewhere that both would push to. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseRemoteAddress } from '../../../src/git/remote/address.ts';
import { FencedRemote, TERM_REF } from '../../../src/git/remote/fenced-remote.ts';
import { git, temporaryFolder, tryGit } from '../../support/git.ts';
import { type Elsewhere, elsewhere, proxyTo, serveGit } from '../../support/remote.ts';

const REF = 'refs/heads/main';

interface Leader {
  readonly remote: FencedRemote;
  readonly gitDir: string;
  readonly warnings: string[];
  mayAct: boolean;
  /** A commit of its own on top of another. */
  commit(parent: string | undefined): string;
}

function leader(url: string, there: Elsewhere, name: string): Leader {
  const gitDir = join(temporaryFolder(), 'mirror.git');
  git('/', ['clone', '-q', '--mirror', there.gitDir, gitDir]);
  const warnings: string[] = [];
  const remote = new FencedRemote({
    address: parseRemoteAddress(url),
    access: {},
    gitDir,
    ref: REF,
    trackingRef: 'refs/gitplane/remote/main',
    name,
    logger: { debug: () => undefined, warn: (_, message) => void warnings.push(message) },
    assertMayAct: () => {
      if (!made.mayAct) throw new Error('the term is over');
    },
  });
  onTestFinished(() => remote.close());
  const commit = (parent = ''): string => {
    const tree = git(gitDir, ['rev-parse', `${parent}^{tree}`]).trim();
    return git(gitDir, ['commit-tree', tree, '-p', parent, '-m', `by ${name}`]).trim();
  };
  const made: Leader = { remote, gitDir, warnings, commit, mayAct: true };
  return made;
}

function termAt({ gitDir }: Elsewhere): string | undefined {
  const { status, stdout } = tryGit(gitDir, ['rev-parse', '-q', '--verify', TERM_REF]);
  return status === 0 ? stdout.trim() : undefined;
}

test('a push that was under way when the next leader began is refused by the remote', async () => {
  const there = elsewhere();
  const server = await serveGit({ gitDir: there.gitDir });
  const proxy = await proxyTo(server.port);
  const old = leader(server.url.replace(`${server.port}`, `${proxy.port}`), there, 'old');
  const next = leader(server.url, there, 'next');
  await old.remote.startTerm();
  const start = there.head();
  const first = old.commit(start);
  expect(await old.remote.push({ tip: first, expected: start })).toEqual({ ended: 'accepted' });

  let held = false;
  proxy.onRequest = async (bytes) => {
    // It knows where all is, and is about to send what it has.
    if (held || !bytes.includes('POST') || !bytes.includes('git-receive-pack')) return;
    held = true;
    await next.remote.startTerm();
  };
  const late = await old.remote.push({ tip: old.commit(first), expected: first });

  expect(held).toBe(true);
  expect(late).toEqual({ ended: 'moved' });
  expect(there.head()).toBe(first);
  old.mayAct = false;
  const again = old.remote.push({ tip: old.commit(first), expected: first });
  await expect(again).rejects.toThrow('the term is over');
  expect(there.head()).toBe(first);
  git(next.gitDir, ['fetch', '-q', there.gitDir, first]);
  const own = next.commit(first);
  expect(await next.remote.push({ tip: own, expected: first })).toEqual({ ended: 'accepted' });
  expect([there.head(), termAt(there)]).toEqual([own, own]);
  expect([...old.warnings, ...next.warnings]).toEqual([]);
});

test('the current leader takes back a term ref that another process moved or removed', async () => {
  const there = elsewhere();
  const one = leader(there.gitDir, there, 'one');
  const start = there.head();
  const first = one.commit(start);
  // The term was not taken before, because the remote did not answer.
  expect(await one.remote.push({ tip: first, expected: start })).toEqual({ ended: 'accepted' });
  git(there.gitDir, ['update-ref', '-d', TERM_REF]);
  const second = one.commit(first);

  expect(await one.remote.push({ tip: second, expected: first })).toEqual({ ended: 'moved' });
  expect(await one.remote.push({ tip: second, expected: first })).toEqual({ ended: 'accepted' });
  expect([there.head(), termAt(there)]).toEqual([second, second]);
});

test('a branch that another client moved stays, and the next push continues from there', async () => {
  const there = elsewhere();
  const one = leader(there.gitDir, there, 'one');
  await one.remote.startTerm();
  const start = there.head();
  const theirs = there.commit({ more: '2' });

  expect(await one.remote.push({ tip: one.commit(start), expected: start })).toEqual({
    ended: 'moved',
  });
  git(one.gitDir, ['fetch', '-q', there.gitDir, theirs]);
  const own = one.commit(theirs);
  expect(await one.remote.push({ tip: own, expected: theirs })).toEqual({ ended: 'accepted' });
});

test.each(['atomic pushes', 'the ref'])(
  'a remote without %s is pushed to as before, and the log reports it once',
  async (missing) => {
    const there = elsewhere();
    if (missing === 'the ref') {
      const hook = `#!/bin/sh\ncase "$1" in refs/gitplane/*) exit 1;; esac\n`;
      mkdirSync(join(there.gitDir, 'hooks'), { recursive: true });
      writeFileSync(join(there.gitDir, 'hooks', 'update'), hook, { mode: 0o755 });
    } else git(there.gitDir, ['config', 'receive.advertiseAtomic', 'false']);
    const one = leader(there.gitDir, there, 'one');
    await one.remote.startTerm();
    const start = there.head();
    const first = one.commit(start);
    const second = one.commit(first);

    expect(await one.remote.push({ tip: first, expected: start })).toEqual({ ended: 'accepted' });
    expect(await one.remote.push({ tip: second, expected: first })).toEqual({ ended: 'accepted' });
    expect(there.head()).toBe(second);
    expect(termAt(there)).toBe(undefined);
    expect(one.warnings).toHaveLength(1);
  },
);
