/**
 * Removes records of the repository log that the leader and at least one other replica have on
 * disk. The newest records stay for replicas that return soon. While there is no second disk,
 * everything stays, up to a limit.
 */
import type { Etcd } from '../etcd/index.ts';
import { sequenceKey } from './keys.ts';
import { type LogRecord, type RecordContext, readRecord } from './log-record.ts';
import type { RepositoryLog } from './repository-log.ts';
import type { ReplicaInfo } from './session.ts';
import type { Term } from './term.ts';
import { transactInTerm } from './transact.ts';

export interface TrimOptions extends Pick<RecordContext, 'keys'> {
  readonly etcd: Etcd;
  readonly term: Term;
  readonly log: RepositoryLog;
  readonly self: string;
  readonly replicas: () => readonly ReplicaInfo[];
  /** Number of newest records to keep; default 256. */
  readonly keep?: number;
}

export interface LogSize {
  readonly records: number;
  readonly bytes: number;
  /** True if records were removed that no second replica has. */
  readonly isForced: boolean;
}

const KEPT_RECORDS = 256;
const MAX_BYTES_ALONE = 256 * 1024 * 1024;
const PAGE = 500;

/** Throws TermEndedError. */
export async function trimLog(options: TrimOptions): Promise<LogSize> {
  const { etcd, keys, log, self, replicas, keep = KEPT_RECORDS } = options;
  const { head } = log;
  if (head === undefined) return { records: 0, bytes: 0, isForced: false };
  const [first] = (await etcd.range({ key: keys.log, prefix: true, limit: 1 })).kvs;
  if (first === undefined) return { records: 0, bytes: 0, isForced: false };
  const oldest = readRecord(first);
  const others = replicas().filter(({ id }) => id !== self);
  const mirrored = Math.max(0, ...others.map((replica) => replica.mirrored));
  const safe = Math.min(mirrored, head.sequence - keep);
  const forced = await overSizeLimit(options, oldest);
  const upTo = Math.max(safe, forced);
  const isForced = forced > safe;
  if (upTo < oldest.sequence) return sizeOf(oldest, head);
  await transactInTerm(etcd, options.term.fence, [
    { remove: keys.log, end: sequenceKey(keys.log, upTo + 1) },
    { remove: keys.packs, end: sequenceKey(keys.packs, upTo + 1) },
  ]);
  const [next] = (await etcd.range({ key: keys.log, prefix: true, limit: 1 })).kvs;
  const size = next === undefined ? undefined : sizeOf(readRecord(next), head);
  return { records: size?.records ?? 0, bytes: size?.bytes ?? 0, isForced };
}

/** The newest record that must be removed because all together are too large. */
async function overSizeLimit(options: TrimOptions, oldest: LogRecord): Promise<number> {
  const { etcd, keys, log } = options;
  const { head } = log;
  if (head === undefined || head.bytes - oldest.bytes <= MAX_BYTES_ALONE) return 0;
  let key = sequenceKey(keys.log, oldest.sequence);
  const end = sequenceKey(keys.log, head.sequence);
  for (;;) {
    const { kvs, more } = await etcd.range({ key, end, limit: PAGE });
    const records = kvs.map(readRecord);
    const fits = records.find(({ bytes }) => head.bytes - bytes <= MAX_BYTES_ALONE);
    if (fits !== undefined) return fits.sequence;
    const last = records.at(-1);
    if (!more || last === undefined) return last?.sequence ?? 0;
    key = sequenceKey(keys.log, last.sequence + 1);
  }
}

function sizeOf(oldest: LogRecord, head: { sequence: number; bytes: number }): LogSize {
  const own = oldest.packBytes + oldest.indexBytes;
  return {
    records: head.sequence - oldest.sequence + 1,
    bytes: head.bytes - oldest.bytes + own,
    isForced: false,
  };
}
