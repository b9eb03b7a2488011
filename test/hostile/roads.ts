/** Roads of a hostile push: bytes over HTTP and by path, and a repository elsewhere that is followed. */
import { spawn } from 'node:child_process';
import type { Daemon } from '../support/daemon.ts';
import { git, gitEnv, tryGit } from '../support/git.ts';
import { BRANCH, type HostilePush, type Target } from './bombs.ts';
import { NO_ID } from './objects.ts';

export interface Outcome {
  readonly isTaken: boolean;
  /** All that the pusher is told. */
  readonly said: string;
  readonly milliseconds: number;
}

export function targetIn(gitDir: string, ref = BRANCH): Target {
  const root = git(gitDir, ['ls-tree', ref]).split('\n').filter(Boolean);
  return {
    head: git(gitDir, ['rev-parse', ref]),
    root: root.map((line) => {
      const [, mode = '', id = '', name = ''] = /^(\d+) \w+ (\w+)\t(.*)$/.exec(line) ?? [];
      return { mode: mode.replace(/^0/, ''), name, id };
    }),
  };
}

/** The body of a push (gitprotocol-pack, "Reference Update Request"). */
function bodyOf(push: HostilePush, target: Target): Buffer {
  const moves = push.refs ?? [{ ref: BRANCH, from: target.head, to: push.tip }];
  const lines = moves.map(({ ref, from = NO_ID, to }, i) => {
    const capabilities = i === 0 ? '\0report-status side-band-64k object-format=sha1' : '';
    const line = `${from} ${to} ${ref}${capabilities}\n`;
    return (line.length + 4).toString(16).padStart(4, '0') + line;
  });
  return Buffer.concat([Buffer.from(`${lines.join('')}0000`), push.pack]);
}

function outcomeOf(answer: string, started: number): Outcome {
  return {
    isTaken: /ok (?:refs\/|HEAD)/.test(answer) && !/ng (?:refs\/|HEAD)/.test(answer),
    said: answer.replaceAll(/[^\P{Cc}\n]/gu, ' ').slice(-64_000),
    milliseconds: performance.now() - started,
  };
}

export async function pushOverHttp(
  daemon: Daemon,
  push: HostilePush,
  target: Target,
): Promise<Outcome> {
  const body = bodyOf(push, target);
  const started = performance.now();
  const credentials = Buffer.from(`admin:${daemon.token}`).toString('base64');
  const { code, text } = await daemon.call('POST', '/git/platform.git/git-receive-pack', {
    body,
    type: 'application/x-git-receive-pack-request',
    headers: { authorization: `Basic ${credentials}` },
  });
  return outcomeOf(`${code} ${text}`, started);
}

const PUSHER = ['prlimit', '--data=1073741824', '--cpu=30'] as const;

/** By a git process on the machine of the daemon; its limits are there to protect the tests. */
export function pushByPath(gitDir: string, push: HostilePush, target: Target): Promise<Outcome> {
  const body = bodyOf(push, target);
  const started = performance.now();
  return new Promise((resolve) => {
    const [program, ...words] = [...PUSHER, 'git', 'receive-pack', gitDir];
    const child = spawn(program, words, { env: gitEnv });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    }
    child.stdin.on('error', () => undefined);
    child.stdin.end(body);
    child.on('close', () => resolve(outcomeOf(Buffer.concat(chunks).toString('latin1'), started)));
  });
}

/** What a harmless push left, other branches and tags as well, goes. */
export function restore(gitDir: string, { head }: Target): void {
  const refs = git(gitDir, ['for-each-ref', '--format=%(refname)']).split('\n').filter(Boolean);
  const strange = refs.filter((ref) => ref !== BRANCH && !ref.startsWith('refs/gitplane/'));
  const lines = strange.map((ref) => `delete ${ref}\n`).join('');
  if (lines !== '') git(gitDir, ['update-ref', '--stdin'], { input: lines });
  if (git(gitDir, ['rev-parse', BRANCH]) !== head) mend(gitDir, `${head}^{tree}`);
}

/** A repository elsewhere comes to hold a push, unjudged. False: git itself cannot read it. */
export function plant(gitDir: string, push: HostilePush): boolean {
  const { status } = tryGit(gitDir, ['index-pack', '--stdin'], { input: push.pack });
  if (status !== 0) return false;
  git(gitDir, ['update-ref', BRANCH, push.tip]);
  return true;
}

/** Takes the bomb out again, by a commit on top of it. */
export function mend(gitDir: string, tree: string): void {
  const id = git(gitDir, ['rev-parse', tree]);
  const tip = git(gitDir, ['commit-tree', id, '-p', BRANCH, '-m', 'Take it out']);
  git(gitDir, ['update-ref', BRANCH, tip]);
}
