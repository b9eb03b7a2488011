/** `gitplane state migrate`: finds both locations, and checks that no daemon or replica uses them. */
import { existsSync } from 'node:fs';
import { type DataDirectory, openDataDirectory, StartError } from '../../bootstrap/index.ts';
import { Progress, showProgress } from '../../concurrency/index.ts';
import { type Etcd, openEtcd } from '../../etcd/index.ts';
import { readRef } from '../../git/index.ts';
import { CLUSTER_KINDS } from '../../kinds/index.ts';
import { type ParsedOptions, UsageError } from '../../options/index.ts';
import { type Keys, keysBelow, readHead } from '../../replication/index.ts';
import {
  isNewState,
  loadStateKey,
  openEtcdEngine,
  openLmdbEngine,
  sealingCodec,
  strictCodec,
} from '../../state/index.ts';
import { createLogger } from '../../telemetry/index.ts';
import { openPushReception } from '../network/push-reception.ts';
import { type EtcdLocation, etcdOptions, readEtcdLocation } from '../replicated/replica-options.ts';
import { migrateState, type StateLocation } from './migrate-state.ts';

interface Migration {
  readonly data: DataDirectory;
  readonly etcd: Etcd;
  readonly place: EtcdLocation;
  readonly keys: Keys;
  readonly toEtcd: boolean;
  readonly branch: string;
}

/** The two states of a daemon. */
type Part = 'platform' | 'clusters';

export async function state(
  options: ParsedOptions,
  out: { write(text: string): void },
): Promise<number> {
  if (options.operands.join(' ') !== 'migrate') {
    throw new UsageError('Write gitplane state migrate --from WHERE --to WHERE');
  }
  const from = readEtcdLocation(options, 'from');
  const place = from ?? readEtcdLocation(options, 'to');
  if (place === undefined || (from !== undefined && options.required('to') !== 'embedded')) {
    throw new UsageError('One of --from and --to is embedded, the other etcd://HOST:PORT');
  }
  if (!existsSync(place.stateKey)) {
    throw new StartError(`Cannot read --state-key ${place.stateKey}: it does not exist`);
  }
  const data = openDataDirectory(options.required('data-dir'));
  // Holds the data directory, and fails when a daemon runs on it.
  const lock = await openPushReception(data.root, createLogger('silent', process.stderr));
  const etcd = await openEtcd(etcdOptions(place));
  const branch = options.required('branch');
  const keys = keysBelow(place.prefix);
  try {
    const migration = { data, etcd, place, keys, toEtcd: from === undefined, branch };
    const parts = await migrate(migration);
    const done = parts.map(({ part, records }) => `${records} records of the ${part}`).join(', ');
    const text = `Copied and read back: ${done}. The source is unchanged.\n`;
    const json = `${JSON.stringify({ copied: parts }, null, 2)}\n`;
    out.write(options.text('output') === 'json' ? json : text);
    return 0;
  } finally {
    await etcd.close();
    await lock.close();
  }
}

async function migrate(migration: Migration): Promise<{ part: Part; records: number }[]> {
  await assertNoReplica(migration);
  if (!migration.toEtcd) await assertSameBranch(migration);
  const done: { part: Part; records: number }[] = [];
  const progress = new Progress();
  for (const part of ['clusters', 'platform'] as const) {
    if (!(await isThere(migration, part))) continue;
    const sides = [embedded(migration, part), inEtcd(migration, part)] as const;
    const [from, to] = migration.toEtcd ? sides : [sides[1], sides[0]];
    const copied = (): Promise<number> => migrateState(from, to, progress);
    done.push({ part, records: await showProgress(progress, process.stderr, copied) });
  }
  if (done.length === 0) throw new StartError('There is no state: nothing was copied');
  return done;
}

async function assertNoReplica({ etcd, keys }: Migration): Promise<void> {
  for (const key of [keys.leader, keys.replicas]) {
    const { kvs } = await etcd.range({ key, prefix: true, limit: 1, keysOnly: true });
    if (kvs.length === 0) continue;
    throw new StartError(
      `A replica runs on ${etcd.place} (${kvs[0]?.key}): stop all replicas first; the entry of a killed one expires within seconds`,
    );
  }
}

/** The state belongs to one history: the branch here must be at the same commit. */
async function assertSameBranch({ etcd, keys, data, branch }: Migration): Promise<void> {
  const [kv] = (await etcd.range({ key: keys.head })).kvs;
  if (kv === undefined) return;
  const { commit } = readHead(kv.value);
  const own = await readRef(data.repository, `refs/heads/${branch}`);
  if (own === commit) return;
  throw new StartError(
    `The repository in ${data.root} is at ${own ?? 'no commit'}, and that of the replicas at ${commit}: run a replica on this data directory until it has caught up, or use the data directory of a replica`,
  );
}

async function isThere({ data, etcd, keys, toEtcd }: Migration, part: Part): Promise<boolean> {
  if (toEtcd) return !isNewState(directoryOf(data, part));
  const key = prefixOf(keys, part);
  return (await etcd.range({ key, prefix: true, limit: 1, keysOnly: true })).kvs.length > 0;
}

function embedded({ data }: Migration, part: Part): StateLocation {
  const isSecret = part === 'platform' ? () => true : holdsClusterSecret;
  const codec = sealingCodec(loadStateKey(data.stateKey), isSecret);
  const open = () => openLmdbEngine(directoryOf(data, part), { onError: () => undefined });
  return { codec, followed: false, open };
}

function inEtcd({ etcd, place, keys }: Migration, part: Part): StateLocation {
  const codec = strictCodec(loadStateKey(place.stateKey));
  const open = () =>
    openEtcdEngine({
      etcd,
      prefix: prefixOf(keys, part),
      // A replica that begins to lead meanwhile invalidates the writes of this process.
      fence: [{ key: keys.leader, createRevision: 0n }],
      ended: () => new StartError(`A replica has begun to lead on ${etcd.place}: stop it first`),
      onError: () => undefined,
    });
  // Only the state of the platform has followers.
  return { codec, followed: part === 'platform', open };
}

function holdsClusterSecret({ kind }: { kind: string }): boolean {
  return CLUSTER_KINDS.some((one) => one.kind === kind && one.secretPaths.length > 0);
}

function directoryOf(data: DataDirectory, part: Part): string {
  return part === 'platform' ? data.state : data.clusters;
}

function prefixOf(keys: Keys, part: Part): string {
  return part === 'platform' ? keys.platformState : keys.clustersState;
}
