/**
 * A push whose end is known. Connections break after a push was sent and before its answer: then the
 * remote is asked, until it is clear whether it has the commits.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { runGit, tryGit } from '../git-process.ts';
import type { Remote, RemotePush } from './remote.ts';
import { RemoteError } from './remote-error.ts';

export interface PushParts {
  readonly remote: Pick<Remote, 'push' | 'tip'>;
  readonly gitDir: string;
  /** Brings the remote's branch here and returns its tip; undefined: it does not exist. */
  fetch(): Promise<string | undefined>;
  /** How long a push that nobody confirmed is asked after. */
  readonly doubtMs: number;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

/** Where the remote's branch is, when it is neither where it was nor contains what was pushed. */
export interface MovedElsewhere {
  readonly tip: string | undefined;
}

const MOST_RACES = 5;

/** Undefined: the remote has the commits. Throws RemoteError otherwise. */
export async function pushConfirmed(
  parts: PushParts,
  push: RemotePush,
): Promise<MovedElsewhere | undefined> {
  let giveUp: number | undefined;
  for (let races = 0; races < MOST_RACES; ) {
    const result = await parts.remote.push(push).catch((error: unknown) => {
      // Once a push may have been sent, not reaching the remote tells nothing about it.
      if (giveUp === undefined || !isSilence(error)) throw error;
      return { ended: 'untold' } as const;
    });
    if (result.ended === 'accepted') return undefined;
    if (result.ended === 'refused') throw result.error;
    let found: Answer;
    if (result.ended === 'moved') {
      found = await look(parts, push);
      races += 1;
      if (found === 'unmoved') await pause(parts, 100 * races);
    } else {
      giveUp ??= performance.now() + parts.doubtMs;
      found = await resolveDoubt(parts, push, giveUp);
    }
    if (found !== 'unmoved') return found === 'there' ? undefined : found;
  }
  throw new RemoteError('unreachable', 'its branch stays locked by somebody else');
}

/** Unmoved: the very same push may be sent again; whichever arrives first makes the other void. */
type Answer = 'there' | 'unmoved' | MovedElsewhere;

async function resolveDoubt(parts: PushParts, push: RemotePush, giveUp: number): Promise<Answer> {
  for (let wait = 100; ; wait = Math.min(wait * 2, 2_000)) {
    try {
      const tip = await parts.remote.tip();
      if (tip === push.tip) return 'there';
      if (tip !== push.expected) return await look(parts, push);
      if (performance.now() < giveUp) {
        await pause(parts, wait);
        return 'unmoved';
      }
    } catch (error) {
      if (!isSilence(error)) throw error;
    }
    if (performance.now() > giveUp) throw new RemoteError('unknown-outcome');
    await pause(parts, wait);
  }
}

async function look(parts: PushParts, push: RemotePush): Promise<Answer> {
  const tip = await parts.fetch();
  if (tip !== undefined && (await containsCommit(parts.gitDir, tip, push.tip))) return 'there';
  return tip === push.expected ? 'unmoved' : { tip };
}

async function pause({ signal }: PushParts, milliseconds: number): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => {
    throw new RemoteError('unknown-outcome', 'gitplane is stopping');
  });
}

function isSilence(error: unknown): boolean {
  return error instanceof RemoteError && error.problem === 'unreachable';
}

/** Whether a commit is part of the history of another one that is here. */
export async function containsCommit(
  gitDir: string,
  tip: string,
  commit: string,
): Promise<boolean> {
  if (tip === commit) return true;
  const context = { gitDir };
  // What is not here is in no history that is.
  if ((await tryGit(context, ['cat-file', '-e', commit])).code !== 0) return false;
  const { code } = await tryGit(context, ['merge-base', '--is-ancestor', commit, tip]);
  if (code === 0 || code === 1) return code === 0;
  await runGit(context, ['cat-file', '-e', tip]);
  return false;
}
