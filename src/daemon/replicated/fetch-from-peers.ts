/** Fetches the branch from another replica, when the log in etcd does not reach back far enough. */

import { parseRemoteAddress, Remote, readRef } from '../../git/index.ts';
import type { PeerIdentity, ReplicaCoordination } from '../../replication/index.ts';
import { PEER_REPOSITORY } from './peer-listener.ts';

export interface PeerFetchOptions {
  readonly link: Pick<ReplicaCoordination, 'leader' | 'replicas'>;
  /** Id of this replica. */
  readonly self: string;
  readonly identity: PeerIdentity;
  readonly gitDir: string;
  /** Full name of the branch. */
  readonly ref: string;
}

const TRACKING_REF = 'refs/gitplane/peer';

/** Resolves with the commit of the branch at a peer; its objects are then in this repository. */
export async function fetchFromPeers(options: PeerFetchOptions): Promise<string> {
  const { gitDir, ref, identity } = options;
  const { ca: caFile, cert: clientCertFile, key: clientKeyFile } = identity.files;
  let failure: unknown;
  for (const peer of peersByWorth(options)) {
    const address = parseRemoteAddress(`https://${peer}${PEER_REPOSITORY}`);
    const access = { ...NOBODY, caFile, clientCertFile, clientKeyFile };
    const remote = new Remote({ address, access, gitDir, ref, trackingRef: TRACKING_REF });
    try {
      await remote.fetch(true);
      const commit = await readRef(gitDir, TRACKING_REF);
      if (commit !== undefined) return commit;
    } catch (error) {
      failure = error;
    }
  }
  throw new Error('No other replica has served the repository', { cause: failure });
}

const NOBODY = {
  username: undefined,
  token: undefined,
  tokenFile: undefined,
  tokenType: 'basic',
  sshKeyFile: undefined,
  knownHostsFile: undefined,
} as const;

/** The leader first, then by the number of mirrored commits. */
function peersByWorth({ link, self }: PeerFetchOptions): string[] {
  const others = link.replicas.filter(({ id, mirrored }) => id !== self && mirrored >= 0);
  const leader = link.leader?.id;
  const worth = ({ id, mirrored }: { id: string; mirrored: number }): number =>
    id === leader ? Number.POSITIVE_INFINITY : mirrored;
  return others.sort((a, b) => worth(b) - worth(a)).map(({ peer }) => peer);
}
