/** Context of every part of a replica. */
import type { Clock } from '../../apimachinery/index.ts';
import type { DataDirectory } from '../../bootstrap/index.ts';
import type { Etcd } from '../../etcd/index.ts';
import type { Keys } from '../../replication/index.ts';
import type { RecordCodec } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { DaemonOptions } from '../options.ts';
import type { ReplicaOptions } from './replica-options.ts';

export interface ReplicaContext {
  readonly options: DaemonOptions;
  readonly replica: ReplicaOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly data: DataDirectory;
  readonly etcd: Etcd;
  readonly keys: Keys;
  /** Encrypts every record. */
  readonly codec: RecordCodec;
  /** Id of this process among the replicas. */
  readonly self: string;
  /** Shutdown steps, run last first. */
  readonly undo: (() => Promise<void>)[];
}
