/** The hooks of pushes over HTTP: real pushes to a server whose hooks this process answers. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { GitProcess } from '../../../src/git/process/git-process.ts';
import { startLauncher } from '../../../src/git/process/launcher.ts';
import { QUERY } from '../../../src/git/process/process-limits.ts';
import { installHooks } from '../../../src/git/serve/hook.ts';
import type { PushRequest, PushVerdict, RefUpdate } from '../../../src/git/serve/hook-protocol.ts';
import { answerHooks, type ServedHooks } from '../../../src/git/serve/served-hooks.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { bareRepository, cloneForTest, git, temporaryFolder, tryGit } from '../../support/git.ts';
import { gitOver, serveRepository } from '../../support/smart-http.ts';

const NO_ID = '0'.repeat(40);
const ACCEPTED: PushVerdict = { ok: true, lines: [] };

interface Pushed {
  readonly gitDir: string;
  readonly id: string;
  /** Lines that the pusher sees behind `remote: `. */
  readonly remote: readonly string[];
  readonly stderr: string;
  readonly requests: readonly PushRequest[];
  readonly landed: readonly (readonly RefUpdate[])[];
}

interface Answers {
  readonly preReceive?: (push: PushRequest, gitDir: string) => Promise<PushVerdict>;
  readonly procReceive?: (updates: readonly RefUpdate[]) => Promise<PushVerdict>;
  readonly refs?: readonly string[];
  readonly options?: readonly string[];
  /** Called before the push. */
  readonly before?: (gitDir: string) => Promise<void> | void;
}

function pathOf(program: string): string {
  return execFileSync('which', [program], { encoding: 'utf8' }).trim();
}

/** Pushes a new commit to each ref. */
async function push(answers: Answers): Promise<Pushed> {
  const { refs = ['refs/heads/main'], options = [] } = answers;
  const gitDir = await bareRepository();
  git(gitDir, ['config', 'receive.advertisePushOptions', 'true']);
  // A push by path would be refused.
  await installHooks(gitDir, { command: ['/bin/false'] });
  const clone = cloneForTest(gitDir);
  writeFileSync(join(clone, 'a'), '1');
  git(clone, ['add', '-A']);
  git(clone, ['commit', '-q', '-m', 'first']);
  const id = git(clone, ['rev-parse', 'HEAD']);
  const requests: PushRequest[] = [];
  const landed: (readonly RefUpdate[])[] = [];
  const hooks: ServedHooks = {
    preReceive: async (request) => {
      requests.push(request);
      return (await answers.preReceive?.(request, gitDir)) ?? ACCEPTED;
    },
    procReceive: async (updates) => {
      landed.push(updates);
      return (await answers.procReceive?.(updates)) ?? ACCEPTED;
    },
  };
  const { url } = await serveRepository(gitDir, { hooks, procReceive: ['refs/heads/main'] });
  await answers.before?.(gitDir);
  const args = ['push', '-q', ...options.flatMap((option) => ['-o', option]), url];
  const { stderr } = await gitOver(clone, [...args, ...refs.map((ref) => `HEAD:${ref}`)]);
  const lines = stderr.split('\n').filter((line) => line.startsWith('remote: '));
  const remote = lines.map((line) => line.slice('remote: '.length).trimEnd());
  return { gitDir, id, remote, stderr, requests, landed };
}

// Connections of git are made by the launcher, or by this process.
describe.each(['this process', 'the launcher'])('git started by %s', (starter) => {
  beforeAll(async () => {
    if (starter === 'the launcher') await startLauncher();
  });

  test('gets the updates, the quarantine and the options, and lands in the place of git', async () => {
    const options = ['approve=prune', `it's "$HOME" \\0 %s \`id\``, ' padded '];
    const refs = ['refs/heads/main', 'refs/heads/other'];
    const { gitDir, id, requests, landed, stderr } = await push({ refs, options });
    const updates = refs.map((ref) => ({ oldId: NO_ID, newId: id, ref }));
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ updates, pushOptions: options });
    expect(Object.keys(requests[0]?.env ?? {}).sort()).toEqual([
      'GIT_ALTERNATE_OBJECT_DIRECTORIES',
      'GIT_OBJECT_DIRECTORY',
      'GIT_QUARANTINE_PATH',
    ]);
    expect(landed).toEqual([[updates[0]]]);
    expect(stderr).toBe('');
    // The daemon moves the other one itself.
    expect(git(gitDir, ['for-each-ref', '--format=%(refname)'])).toBe('refs/heads/other');
  });

  test('asks before the objects leave the quarantine, and a refusal leaves nothing', async () => {
    let isStored = true;
    const { gitDir, landed, remote, stderr } = await push({
      preReceive: async ({ updates }, folder) => {
        isStored = tryGit(folder, ['cat-file', '-e', updates[0]?.newId ?? '']).status === 0;
        return { ok: false, lines: ['teams/a.yaml:3:5: Required value'] };
      },
    });
    expect(isStored).toBe(false);
    expect(landed).toEqual([]);
    expect(remote).toEqual(['teams/a.yaml:3:5: Required value']);
    expect(stderr).toContain('main (pre-receive hook declined)');
    expect(git(gitDir, ['for-each-ref'])).toBe('');
    expect(git(gitDir, ['count-objects', '-v'])).toContain('in-pack: 0');
  });

  const hostile = [
    '  100% \\0 “wrong” $(id) `id`',
    '',
    'c: \x1b[31mred\x07',
    'one\ntwo',
    '-n',
    '\0',
  ];

  test.each([
    ['pre-receive', { preReceive: async () => ({ ok: false, lines: hostile }) }],
    ['proc-receive', { procReceive: async () => ({ ok: true, lines: hostile }) }],
  ])('shows the lines of %s as they are, without control characters', async (_hook, answers) => {
    const shown = ['  100% \\0 “wrong” $(id) `id`', '', 'c: ?[31mred?', 'one', 'two', '-n', '?'];
    expect((await push(answers)).remote).toEqual(shown);
  });

  test('shows the reason of proc-receive beside the ref', async () => {
    const reason = 'conflict in teams/a.yaml\n0000';
    const verdict = { ok: false, lines: ['changed by ann'], reason };
    const { remote, stderr } = await push({ procReceive: async () => verdict });
    expect(remote).toEqual(['changed by ann']);
    expect(stderr).toContain('main (conflict in teams/a.yaml 0000)');
  });

  test.each([
    ['pre-receive', { preReceive: () => Promise.reject(new Error('secret-value')) }],
    ['proc-receive', { procReceive: () => Promise.reject(new Error('secret-value')) }],
  ])('refuses if the judge of %s fails, without its secrets', async (_hook, answers) => {
    const { gitDir, remote, stderr } = await push(answers);
    expect(remote[0]).toContain('could not validate this push');
    expect(stderr).toContain('rejected');
    expect(stderr).not.toContain('secret-value');
    expect(git(gitDir, ['for-each-ref'])).toBe('');
  });

  test('refuses a push whose updates do not reach the daemon', async () => {
    const bin = temporaryFolder();
    for (const name of ['git', 'sh']) symlinkSync(pathOf(name), join(bin, name));
    onTestFinished(() => void vi.unstubAllEnvs());
    const { gitDir, requests, stderr } = await push({
      refs: ['refs/heads/other'],
      // Only the client has a `cat`.
      before: () => void vi.stubEnv('PATH', bin),
    });
    expect(requests).toEqual([]);
    expect(stderr).toMatch(/cat: .*not found/);
    expect(stderr).toContain('other (pre-receive hook declined)');
    expect(git(gitDir, ['for-each-ref'])).toBe('');
  });

  test.each([
    ['no update', String.raw`printf 'q\0o\0a\0000\0\0' >&3`, 'warn'],
    ['half a request', String.raw`printf 'q\0o\0' >&3`, 'warn'],
    // As for a push that ends before its hook.
    ['nothing', 'true', undefined],
  ])(
    'gets no verdict if the hook passes on %s; the log says so if something came',
    async (_what, script, level) => {
      const judged = vi.fn(async () => ACCEPTED);
      const lines: string[] = [];
      const logger = createLogger('debug', { write: (line) => lines.push(line) });
      const hooks: ServedHooks = { preReceive: judged, procReceive: judged, logger };
      const config = [['alias.relay', `!${script}; exec 3>&-; true`]] as const;
      let answered: Promise<void> | undefined;
      const hook = new GitProcess(
        { gitDir: await bareRepository(), config },
        ['relay'],
        QUERY,
        (to) => {
          answered = answerHooks(to, hooks);
        },
      );
      hook.stdin.end();
      hook.stdout.resume();
      expect(await hook.ended).toEqual({ code: 0, signal: null });
      await answered;
      expect(judged).not.toHaveBeenCalled();
      const message = 'A hook did not pass on its push, which is refused';
      const expected =
        level === undefined ? [] : [expect.objectContaining({ level, msg: message })];
      expect(lines.map((line) => JSON.parse(line))).toEqual(expected);
    },
  );

  test('runs the hooks of the operator, without the connection to the daemon', async () => {
    const ran = join(temporaryFolder(), 'ran');
    const script = (name: string): string =>
      `#!/bin/sh\n{ true >&3; } 2>/dev/null && exit 1\necho ${name} >> '${ran}'\n`;
    const names = ['reference-transaction', 'update', 'post-receive', 'post-update'];
    const { gitDir, stderr } = await push({
      refs: ['refs/heads/other'],
      before: async (repository) => {
        for (const name of names) {
          writeFileSync(join(repository, 'hooks', name), script(name), { mode: 0o755 });
        }
        await installHooks(repository, { command: ['/bin/false'] });
      },
    });
    expect(stderr).toBe('');
    expect(git(gitDir, ['for-each-ref', '--format=%(refname)'])).toBe('refs/heads/other');
    expect([...new Set(readFileSync(ran, 'utf8').trim().split('\n'))].sort()).toEqual(names.sort());
    for (const name of names) rmSync(join(gitDir, 'hooks', name));
    await installHooks(gitDir, { command: ['/bin/false'] });
    expect(readdirSync(join(gitDir, 'hooks/served')).sort()).toEqual([
      'pre-receive',
      'proc-receive',
    ]);
  });

  test('takes a thousand refs', async () => {
    const refs = Array.from({ length: 1000 }, (_, i) => `refs/tags/v${i}`);
    const lines = refs.map((ref) => `${ref} is refused`);
    const { requests, remote } = await push({
      refs,
      preReceive: async () => ({ ok: false, lines }),
    });
    expect(requests[0]?.updates.map(({ ref }) => ref)).toEqual(refs);
    expect(remote).toEqual(lines);
  });
});
