/** Opens the review branch: its repository, an in-memory platform on it, and a registry. */
import { randomBytes } from 'node:crypto';
import type { FileReader } from '../../catalog/index.ts';
import { type Gate, openRepository, type SignCommit, WriteBranch } from '../../git/index.ts';
import {
  type ArrivedPush,
  Branch,
  type Guard,
  PendingWrites,
  Registry,
  type Sealer,
  type Shadow,
  type WriteParts,
} from '../../registry/index.ts';
import type { Term } from '../../replication/index.ts';
import { MemoryEngine, openStore, type Store, sealingCodec } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { openRemote } from './open-remote.ts';
import type { RemoteSource } from './remote-options.ts';

export interface PendingWritesParts extends WriteParts {
  readonly source: Pick<RemoteSource, 'address' | 'access'>;
  readonly writeBranch: string;
  readonly gitDir: string;
  readonly maxPaths: number;
  readonly reader: FileReader;
  readonly sealer?: Sealer | undefined;
  readonly rules: string;
  /** Registry of the served branch. */
  readonly registry: Registry;
  readonly branch: Branch;
  /** Guards on the rights of another state than the served one. */
  readonly guardsOn: (store: Store) => readonly Guard[];
  readonly sign?: SignCommit | undefined;
  /** As of `WriteBranch`. */
  readonly mayCopy: (commit: Buffer) => boolean;
  readonly logger: Logger;
  /** Absent: no replica, so pushes need no fencing. */
  readonly term?: Term | undefined;
}

/** `close` of the result closes everything that was opened here. */
export async function openPendingWrites(parts: PendingWritesParts): Promise<PendingWrites> {
  const { source, writeBranch, gitDir, logger, sign, mayCopy, term, maxPaths } = parts;
  const place = {
    ...source,
    gitDir,
    ref: `refs/heads/${writeBranch}`,
    trackingRef: `refs/gitplane/pending/${writeBranch}`,
  };
  const remote = openRemote(place, { term, logger });
  const pending = new WriteBranch({ remote, gitDir, ref: remote.ref, logger, mayCopy });
  const gate: Gate = async (publication, objects) => {
    await writes.beforePush(publication);
    await pending.admit(publication, objects);
  };
  // It shares the packs of the followed branch, whose maintenance also covers them.
  const packThreshold = Number.POSITIVE_INFINITY;
  const where = { gitDir, branch: writeBranch, maxPaths };
  const repository = await openRepository({ ...where, gate, sign, logger, packThreshold });
  const writes = new PendingWrites({
    served: parts,
    pending,
    kinds: parts.kinds,
    authorizer: parts.authorizer,
    open: async (base, pushes) => {
      const tips = pushes.map(({ tip }) => tip);
      const { conflicts, arrived: found } = await pending.prepare(base, repository, tips);
      const arrived: ArrivedPush[] = [];
      for (const push of pushes.filter(({ tip }) => found.includes(tip))) {
        const before = await repository.diff(push.base, push.parent);
        arrived.push({ before, changes: await repository.diff(push.parent, push.tip) });
      }
      const shadow = await openShadow(parts, repository);
      const { revision = base } = shadow.state;
      const files = await repository.diff(base, revision);
      return { shadow: { ...shadow, files }, conflicts, arrived };
    },
    onClose: async () => {
      await pending.close();
      await repository.close();
    },
  });
  return writes;
}

const UNSEEN = { published: () => undefined, applied: () => undefined, replayed: () => undefined };

async function openShadow(
  parts: PendingWritesParts,
  repository: Awaited<ReturnType<typeof openRepository>>,
): Promise<Omit<Shadow, 'files'>> {
  const onError = (error: unknown): void =>
    parts.logger.error({ err: error }, 'Background work failed');
  // The store is never persisted, so a random key is enough.
  const codec = sealingCodec(randomBytes(32), () => false);
  const store = await openStore({ engine: new MemoryEngine(), codec, onError });
  const { kinds, reader, sealer, under, clock, rules } = parts;
  const options = {
    repository,
    store,
    kinds,
    reader,
    sealer,
    under,
    clock,
    rules,
    observer: UNSEEN,
  };
  const branch = await Branch.open({ ...options, budget: undefined });
  const registry = new Registry({
    kinds,
    store,
    clock,
    under,
    // Nobody grants more than he holds, now and after the merge.
    guards: [...parts.guards, ...parts.guardsOn(store)],
    advice: parts.advice,
    authorizer: parts.authorizer,
    branch,
    issuers: {},
  });
  const close = async (): Promise<void> => {
    await branch.close();
    await store.close();
  };
  return {
    registry,
    store,
    state: branch.state,
    close,
  };
}
