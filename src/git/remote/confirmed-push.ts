/**
 * Push with a confirmed outcome. The answer of the remote counts only once its branch shows it. If the
 * connection breaks after a push was sent and before its answer, the remote is queried until it is
 * known if it has the commits.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffBound } from '../../concurrency/index.ts';
import { containsCommit } from '../reading/contains-commit.ts';
import { HANGS, type Remote, type RemotePush, type RemotePushResult } from './remote.ts';
import { RemoteError } from './remote-error.ts';

export interface PushParts {
  readonly remote: Pick<Remote, 'push' | 'tip'>;
  readonly gitDir: string;
  /** Fetches the branch of the remote and returns its tip; undefined: it does not exist. */
  fetch(): Promise<string | undefined>;
  /** Time from the start of a push until its outcome counts as unknown. */
  readonly outcomeTimeoutMs: number;
  /** Aborted when the daemon stops. */
  readonly signal: AbortSignal;
}

/** The branch of the remote moved to a commit that does not contain the push. */
export interface MovedElsewhere {
  readonly tip: string | undefined;
}

const MAX_RACES = 5;
const BACKOFF = { firstMs: 100, lastMs: 2_000 };

/** Returns undefined if the remote has the commits. Throws RemoteError otherwise. */
export async function pushConfirmed(
  parts: PushParts,
  push: RemotePush,
): Promise<MovedElsewhere | undefined> {
  const started = performance.now();
  let giveUp = started + parts.outcomeTimeoutMs;
  let isAccepted = false;
  let mayBeThere = false;
  for (let tries = 1, races = 0; races < MAX_RACES; tries++) {
    const sent = await sendWatched(parts, push).catch((error: unknown) => {
      if (!(error instanceof RemoteError)) throw error;
      // Nothing of this push was sent, but an earlier attempt with the same commit may have arrived.
      if (mayBeThere) return asUnknown(error);
      const isQuick = performance.now() < started + parts.outcomeTimeoutMs / 2;
      if (error.problem !== 'unreachable' || tries > 1 || !isQuick) throw error;
      return undefined;
    });
    // If the connection broke before anything was sent, one retry follows at once.
    if (sent === undefined) continue;
    if (sent.ended === 'refused') throw sent.error;
    let found: Answer | undefined;
    if (sent.ended === 'moved') {
      races += 1;
      found = await inspect(parts, push).catch(() => undefined);
    }
    // After a slow acceptance there is still the full time to see it on the branch.
    if (sent.ended === 'accepted' && !isAccepted)
      giveUp = performance.now() + parts.outcomeTimeoutMs;
    isAccepted ||= sent.ended === 'accepted';
    mayBeThere ||= found === undefined;
    found ??= await resolveDoubt(parts, push, { giveUp, isAccepted });
    if (found !== 'unmoved') return found === 'there' ? undefined : found;
    await pause(parts, backoffBound(tries, BACKOFF));
  }
  throw new RemoteError('unreachable', 'its branch stays locked by another process');
}

/**
 * Sends a push, and queries the remote after each half of the time limit. If the remote does not answer
 * a query, or already has the commit, the push is ended.
 */
async function sendWatched(parts: PushParts, push: RemotePush): Promise<RemotePushResult> {
  const ending = new AbortController();
  const { remote, outcomeTimeoutMs } = parts;
  let hangs = false;
  let hasEnded = false;
  let timer: NodeJS.Timeout | undefined;
  const ask = async (): Promise<void> => {
    const tip = await remote.tip(outcomeTimeoutMs / 2).catch((error: unknown) => {
      hangs = isSilence(error);
      return undefined;
    });
    if (hangs || tip === push.tip) ending.abort();
    else if (!hasEnded) askLater();
  };
  const askLater = (): void => {
    timer = setTimeout(() => void ask(), outcomeTimeoutMs / 2);
  };
  askLater();
  const result = await remote.push({ ...push, signal: ending.signal }).finally(() => {
    hasEnded = true;
    clearTimeout(timer);
  });
  if (hangs && result.ended === 'unknown') throw new RemoteError('unknown-outcome', HANGS);
  return result;
}

/** `unmoved`: the same push may be sent again, since the first to arrive makes the other one void. */
type Answer = 'there' | 'unmoved' | MovedElsewhere;

interface Doubt {
  readonly giveUp: number;
  /** The remote reported that it accepted the push. */
  readonly isAccepted: boolean;
}

/** Queries at least once. Throws RemoteError `unknown-outcome`. */
async function resolveDoubt(parts: PushParts, push: RemotePush, doubt: Doubt): Promise<Answer> {
  const { giveUp, isAccepted } = doubt;
  for (let looks = 1; ; looks++) {
    let problem = NOT_SHOWN;
    try {
      const tip = await parts.remote.tip(Math.max(giveUp - performance.now(), LAST_ASK_MS));
      if (tip === push.tip) return 'there';
      if (tip !== push.expected) return await inspect(parts, push);
      if (performance.now() < giveUp) return 'unmoved';
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      problem = error.message;
    }
    if (performance.now() > giveUp) {
      throw new RemoteError('unknown-outcome', isAccepted ? `${SUCCESS}: ${problem}` : problem);
    }
    await pause(parts, backoffBound(looks, BACKOFF));
  }
}

const LAST_ASK_MS = 5_000;
const NOT_SHOWN = 'its branch does not show the commit';
const SUCCESS = 'it reported success';

/** The failure of a retry gives no information about an earlier attempt. */
function asUnknown(error: RemoteError): RemotePushResult {
  if (isSilence(error)) return { ended: 'unknown' };
  throw new RemoteError('unknown-outcome', error.message, { cause: error });
}

async function inspect(parts: PushParts, push: RemotePush): Promise<Answer> {
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
