/** The leader as the proxy sees it. */

/** The replica that takes writes. */
export interface LeaderPeer {
  readonly id: string;
  /** Host and port for its peers. */
  readonly peer: string;
  /** Grows with every change of the leader. */
  readonly term: bigint;
  readonly ready: boolean;
}

export interface Leaders {
  /** The leader that this replica knows. */
  readonly leader: LeaderPeer | undefined;
  /** Time since this replica could last learn of a new leader; 0: it can. */
  readonly silentMs: number;
  /** False: the leader leads but did not answer the last requests of this replica. */
  readonly isReached: boolean;
  /** Calls back when the leader changes or becomes ready. Returns a function that unsubscribes. */
  onLeader(listener: (leader: LeaderPeer | undefined) => void): () => void;
}

/** Delay until a leader that failed is asked again, if no other leads by then. */
const SAME_AGAIN_MS = 150;

/** Time without news after which requests do not wait for a new leader. */
const SILENT_MS = 1000;
const LOOK_EVERY_MS = 100;

/** True if this replica would not learn of a new leader. */
export function isDeaf({ silentMs }: Pick<Leaders, 'silentMs'>): boolean {
  return silentMs >= SILENT_MS;
}

/** Leader that did not answer. */
export interface Failed {
  readonly leader: LeaderPeer;
  /** Number of failures in its term. */
  readonly times: number;
}

/**
 * The leader, waited for at most so long: the next one, or the one that failed, once more, since a
 * connection that was kept may just have ended.
 */
export async function nextLeader(
  leaders: Leaders,
  failed: Failed | undefined,
  milliseconds: number,
): Promise<LeaderPeer | undefined> {
  const fits = (found: LeaderPeer | undefined): found is LeaderPeer =>
    found?.ready === true && found.term !== failed?.leader.term;
  const { leader } = leaders;
  if (fits(leader)) return leader;
  return await new Promise((resolve) => {
    const end = (found: LeaderPeer | undefined): void => {
      clearTimeout(timer);
      clearTimeout(again);
      clearInterval(look);
      stop();
      resolve(found);
    };
    const same = (): void => {
      if (leaders.leader?.ready === true) end(leaders.leader);
    };
    const timer = setTimeout(() => end(undefined), Math.max(milliseconds, 0));
    const look = setInterval(() => {
      if (isDeaf(leaders)) end(undefined);
    }, LOOK_EVERY_MS);
    const again = failed?.times === 1 ? setTimeout(same, SAME_AGAIN_MS) : undefined;
    const stop = leaders.onLeader((found) => {
      if (fits(found)) end(found);
    });
  });
}
