/** Atomic pushes over HTTP of the served branch with other refs: either all of them land, or none. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { installHooks } from '../../../src/git/serve/hook.ts';
import type { PushVerdict, RefUpdate } from '../../../src/git/serve/hook-protocol.ts';
import type { ServedHooks } from '../../../src/git/serve/served-hooks.ts';
import { bareRepository, cloneForTest, git, tryGit } from '../../support/git.ts';
import { NO_OBJECT, pushRequest, type RefCommand } from '../../support/receive-pack.ts';
import { gitOver, serveRepository } from '../../support/smart-http.ts';

const MAIN = 'refs/heads/main';
const ACCEPTED: PushVerdict = { ok: true, lines: ['accepted: 1 created'] };

interface Pushing {
  /** Refspecs beside the branch. */
  readonly refs: readonly string[];
  readonly before?: (gitDir: string, ids: { first: string; second: string }) => void;
  /** Called when the client has read the refs. */
  readonly meanwhile?: (gitDir: string, ids: { first: string; second: string }) => void;
  /** Called when the branch lands. */
  readonly landing?: (gitDir: string, updates: readonly RefUpdate[]) => PushVerdict | undefined;
  readonly args?: readonly string[];
  /** Sent in the place of a push by git. */
  readonly request?: (clone: string, ids: { first: string; second: string }) => Buffer;
}

interface Pushed {
  readonly code: number | null;
  readonly stderr: string;
  readonly refs: { readonly before: string; readonly after: string };
  readonly second: string;
  readonly gitDir: string;
  readonly landings: number;
}

function refsOf(gitDir: string): string {
  return git(gitDir, ['for-each-ref', '--format=%(refname) %(objectname)']);
}

/** Pushes a second commit to the branch, together with other refs, to a repository that has several. */
async function push(of: Pushing): Promise<Pushed> {
  const gitDir = await bareRepository();
  const clone = cloneForTest(gitDir);
  const commit = (text: string): string => {
    writeFileSync(join(clone, 'a'), text);
    git(clone, ['add', '-A']);
    git(clone, ['commit', '-q', '-m', text]);
    return git(clone, ['rev-parse', 'HEAD']);
  };
  const first = commit('first');
  const present = [MAIN, 'refs/heads/other', 'refs/tags/old', 'refs/tags/older'];
  git(clone, ['push', '-q', gitDir, ...present.map((ref) => `HEAD:${ref}`)]);
  git(gitDir, ['pack-refs', '--all']);
  const second = commit('second');
  const ids = { first, second };
  of.before?.(gitDir, ids);
  await installHooks(gitDir, { command: ['/bin/false'] });
  let landings = 0;
  let before = '';
  const hooks: ServedHooks = {
    preReceive: async () => {
      of.meanwhile?.(gitDir, ids);
      before = refsOf(gitDir);
      return { ok: true, lines: [] };
    },
    procReceive: async (updates) => {
      landings += 1;
      const verdict = of.landing?.(gitDir, updates) ?? ACCEPTED;
      if (verdict.ok) git(gitDir, ['update-ref', MAIN, updates[0]?.newId ?? '']);
      return verdict;
    },
  };
  const { url } = await serveRepository(gitDir, { hooks, procReceive: [MAIN] });
  const { args = ['--atomic'] } = of;
  const { code, stderr } =
    of.request === undefined
      ? await gitOver(clone, ['push', ...args, url, `HEAD:${MAIN}`, ...of.refs])
      : await send(url, of.request(clone, ids));
  return { code, stderr, refs: { before, after: refsOf(gitDir) }, second, gitDir, landings };
}

async function send(url: string, body: Buffer): Promise<{ code: number; stderr: string }> {
  const response = await fetch(`${url}/git-receive-pack`, { method: 'POST', body });
  const answer = await response.text();
  return { code: answer.includes('ng refs/heads/main') ? 1 : 0, stderr: answer };
}

function script(text: string, name: string): (gitDir: string) => void {
  return (gitDir) => {
    mkdirSync(join(gitDir, 'hooks'), { recursive: true });
    const hook = join(gitDir, 'hooks', name);
    writeFileSync(hook, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  };
}

function orphan(gitDir: string): string {
  const tree = git(gitDir, ['rev-parse', 'refs/heads/other^{tree}']);
  return git(gitDir, ['commit-tree', '-m', 'elsewhere', tree]);
}

describe('a ref that git refuses leaves the branch where it was', () => {
  const other = 'HEAD:refs/heads/other';
  const cases: Readonly<Record<string, Pushing & { readonly shows: string | RegExp }>> = {
    'moved meanwhile': {
      refs: [other],
      meanwhile: (gitDir) => git(gitDir, ['update-ref', 'refs/heads/other', orphan(gitDir)]),
      shows: /cannot lock ref 'refs\/heads\/other': is at/,
    },
    'made meanwhile': {
      refs: ['HEAD:refs/heads/new'],
      meanwhile: (gitDir, { first }) => git(gitDir, ['update-ref', 'refs/heads/new', first]),
      shows: /refs\/heads\/new/,
    },
    'removed meanwhile': {
      refs: [other],
      meanwhile: (gitDir) => git(gitDir, ['update-ref', '-d', 'refs/heads/other']),
      shows: /refs\/heads\/other/,
    },
    'a folder of its name': {
      refs: ['HEAD:refs/tags/old/new'],
      shows: /'refs\/tags\/old' exists; cannot create/,
    },
    'another commit, denied by receive.denyNonFastForwards': {
      refs: [`+${other}`],
      before: (gitDir) => {
        git(gitDir, ['config', 'receive.denyNonFastForwards', 'true']);
        git(gitDir, ['update-ref', 'refs/heads/other', orphan(gitDir)]);
      },
      shows: /other \(non-fast-forward\)/,
    },
    'a removal, denied by receive.denyDeletes': {
      refs: [':refs/heads/other'],
      before: (gitDir) => void git(gitDir, ['config', 'receive.denyDeletes', 'true']),
      shows: /other \(deletion prohibited\)/,
    },
    'a removal of HEAD': {
      refs: [':refs/heads/other'],
      before: (gitDir) => {
        git(gitDir, ['config', 'receive.denyDeletes', 'false']);
        git(gitDir, ['symbolic-ref', 'HEAD', 'refs/heads/other']);
      },
      shows: /other \(deletion of the current branch prohibited\)/,
    },
    locked: {
      refs: [other],
      before: (gitDir) => {
        mkdirSync(join(gitDir, 'refs/heads'), { recursive: true });
        writeFileSync(join(gitDir, 'refs/heads/other.lock'), '');
      },
      shows: /other\.lock': File exists/,
    },
    'removed, and packed-refs is locked': {
      refs: [':refs/tags/old'],
      before: (gitDir) => {
        git(gitDir, ['config', 'core.packedRefsTimeout', '0']);
        writeFileSync(join(gitDir, 'packed-refs.lock'), '');
      },
      shows: /packed-refs\.lock': File exists/,
    },
    'refused by the hook update of the operator': {
      refs: [other, 'HEAD:refs/tags/v1'],
      before: script('test "$1" != refs/tags/v1', 'update'),
      shows: /v1 \(hook declined\)/,
    },
    'refused by the hook reference-transaction of the operator': {
      refs: [other],
      before: script('test "$1" != prepared', 'reference-transaction'),
      shows: /hung up|disconnect/,
    },
    'refused by both hooks, one of which prints lines': {
      refs: [other],
      before: (gitDir) => {
        script('echo checked; exit 0', 'update')(gitDir);
        script('test "$1" != prepared', 'reference-transaction')(gitDir);
      },
      shows: /remote: checked/,
    },
    'hidden by receive.hideRefs': {
      refs: ['HEAD:refs/tags/hidden', other],
      before: (gitDir) => void git(gitDir, ['config', 'receive.hideRefs', 'refs/tags/hidden']),
      shows: /nothing was changed/,
    },
    'hidden by receive.hideRefs, alone': {
      refs: ['HEAD:refs/tags/hidden'],
      before: (gitDir) => void git(gitDir, ['config', 'receive.hideRefs', 'refs/tags/hidden']),
      shows: /nothing was changed/,
    },
  };

  test.each(Object.entries(cases))('%s', async (_name, { shows, ...of }) => {
    const { code, stderr, refs, landings } = await push(of);
    expect(stderr).toMatch(shows);
    expect(code).not.toBe(0);
    expect(refs.after).toBe(refs.before);
    expect(landings).toBe(0);
  });

  test('the pusher reads that nothing was changed', async () => {
    const { stderr } = await push(cases['moved meanwhile'] as Pushing);
    expect(stderr).toMatch(/^remote: nothing was changed, since git refused another ref/m);
  });
});

test.each([
  ['a new branch and a tag', ['HEAD:refs/heads/new', 'HEAD:refs/tags/v1'], ['new', 'v1'], []],
  [
    'a moved branch and removed tags',
    ['HEAD:refs/heads/other', ':refs/tags/old'],
    ['other'],
    ['old'],
  ],
  ['removed tags alone', [':refs/tags/old', ':refs/tags/older'], [], ['old', 'older']],
])('%s land with the branch', async (_name, refs, moved, removed) => {
  const { code, stderr, second, gitDir, landings } = await push({ refs });
  expect(stderr).toMatch(/^remote: accepted: 1 created/m);
  expect(code, stderr).toBe(0);
  expect(landings).toBe(1);
  for (const name of ['main', ...moved]) expect(git(gitDir, ['rev-parse', name])).toBe(second);
  for (const name of removed)
    expect(tryGit(gitDir, ['rev-parse', '-q', '--verify', name]).status).toBe(1);
});

test('the others are locked while the branch lands', async () => {
  const { code } = await push({
    refs: ['HEAD:refs/heads/other'],
    landing: (gitDir) => {
      const { status, stderr } = tryGit(gitDir, ['update-ref', 'refs/heads/other', orphan(gitDir)]);
      expect(status).not.toBe(0);
      expect(stderr).toContain('other.lock');
      return undefined;
    },
  });
  expect(code).toBe(0);
});

test('a refusal of the branch is shown beside it, and takes the others with it', async () => {
  const refusal = { ok: false, lines: ['changed by ann'], reason: 'conflict: Team "a"' };
  const refs = ['HEAD:refs/heads/other', ':refs/tags/old'];
  const pushed = await push({ refs, landing: () => refusal });
  expect(pushed.code).not.toBe(0);
  expect(pushed.stderr).toMatch(/^remote: changed by ann/m);
  expect(pushed.stderr).toContain('main (conflict: Team "a")');
  expect(pushed.stderr).toContain('other (atomic push failure)');
  expect(pushed.refs.after).toBe(pushed.refs.before);
});

test('git that cannot move the prepared refs says that the branch has landed', async () => {
  const pushed = await push({
    refs: ['HEAD:refs/tags/v1'],
    landing: (gitDir) => {
      mkdirSync(join(gitDir, 'refs/tags/v1/in-the-way'), { recursive: true });
      writeFileSync(join(gitDir, 'refs/tags/v1/in-the-way/file'), '');
      return undefined;
    },
  });
  expect(pushed.code).not.toBe(0);
  expect(git(pushed.gitDir, ['rev-parse', 'main'])).toBe(pushed.second);
  expect(pushed.stderr).toMatch(/^remote: the branch has landed, and git failed to move/m);
});

test('a push without --atomic moves what it can', async () => {
  const { code, stderr, gitDir, second } = await push({
    refs: ['HEAD:refs/tags/old/new', 'HEAD:refs/heads/other'],
    args: [],
  });
  expect(code).not.toBe(0);
  expect(stderr).toContain('old/new');
  for (const name of ['main', 'other']) expect(git(gitDir, ['rev-parse', name])).toBe(second);
});

/** Lines of a push certificate with commands. */
function certificate(...commands: readonly string[]): string[] {
  const head = ['push-cert', 'certificate version 0.1\n', '\n'];
  const signature = ['-----BEGIN PGP SIGNATURE-----\n', '-----END PGP SIGNATURE-----\n'];
  return [...head, `${commands.join('\n')}\n`, ...signature, 'push-cert-end\n'];
}

describe('a crafted push ends, and changes nothing', () => {
  const capabilities = 'report-status side-band-64k quiet atomic';
  const move = (newId: string, ref = MAIN, oldId = NO_OBJECT): RefCommand => ({
    ref,
    oldId,
    newId,
  });
  const line = ({ oldId, newId, ref }: RefCommand): string => `${oldId} ${newId} ${ref}`;
  /** Git does not create a branch that is there. */
  const denied = (second: string): RefCommand[] => [move(second), move(second, 'refs/heads/other')];
  const cases: Readonly<Record<string, NonNullable<Pushing['request']>>> = {
    'a capability with a value': (clone, { second }) =>
      pushRequest(clone, denied(second), { capabilities: `${capabilities}=yes` }),
    'a capability behind a tab': (clone, { second }) =>
      pushRequest(clone, denied(second), {
        capabilities: capabilities.replace(' atomic', '\tatomic'),
      }),
    'ids in upper case': (clone, { second }) =>
      pushRequest(clone, denied(second), {
        capabilities,
        lines: denied(second).map((one) => line(one).replace(second, second.toUpperCase())),
      }),
    'a push certificate': (clone, { second }) =>
      pushRequest(clone, denied(second), {
        capabilities,
        lines: certificate(...denied(second).map(line)),
      }),
    'a branch that git refuses before its hooks, and a new tag': (clone, { first, second }) => {
      const commands = [move(second), move(first, 'refs/tags/v1')];
      const lines = [...commands.map(line), `shallow ${second}`];
      return pushRequest(clone, commands, { capabilities, lines });
    },
    'a branch that git refuses before its hooks, and a removed tag': (clone, { first, second }) => {
      const commands = [move(second), move(NO_OBJECT, 'refs/tags/old', first)];
      const lines = [...commands.map(line), `shallow ${second}`];
      return pushRequest(clone, commands, { capabilities, lines });
    },
    'a removal without an old value': (clone, { second }) =>
      pushRequest(clone, [move(second), move(NO_OBJECT, 'refs/tags/old')], { capabilities }),
  };

  test.each(Object.entries(cases))('%s', async (_name, request) => {
    const { code, stderr, refs, landings } = await push({ refs: [], request });
    expect(stderr).toContain('nothing was changed');
    expect(code).toBe(1);
    expect(refs.after).toBe(refs.before);
    expect(landings).toBe(0);
  });
});

test('the branch alone lands with a push certificate', async () => {
  const { code, landings } = await push({
    refs: [],
    request: (clone, { second }) => {
      const command = { ref: MAIN, oldId: NO_OBJECT, newId: second };
      const lines = certificate(`${NO_OBJECT} ${second} ${MAIN}`);
      return pushRequest(clone, [command], { capabilities: 'report-status atomic', lines });
    },
  });
  expect(code).toBe(0);
  expect(landings).toBe(1);
});

test('a hook of the operator moves refs of its own', async () => {
  const { code, gitDir, second } = await push({
    refs: ['HEAD:refs/heads/other'],
    before: script('git update-ref refs/heads/deployed refs/heads/other', 'post-receive'),
  });
  expect(code).toBe(0);
  expect(git(gitDir, ['rev-parse', 'deployed'])).toBe(second);
});
