/** What a platform is opened with. */
import type { Clock } from '../apimachinery/index.ts';
import type { DataDirectory } from '../bootstrap/index.ts';
import type { Logger, SlowSteps } from '../telemetry/index.ts';
import type { DaemonOptions } from './options.ts';
import type { ReplicatedPlatform } from './replicated/replicated-platform.ts';

export interface PlatformContext {
  readonly options: DaemonOptions;
  readonly data: DataDirectory;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Told what is being opened. */
  readonly steps: Pick<SlowSteps, 'begin'>;
  /** The base URL that clients use. */
  readonly issuer: string;
  /** Absent: nobody shares it. */
  readonly replicated?: ReplicatedPlatform | undefined;
}

/** What was opened so far, to be closed, last first, when the rest cannot be opened. */
export type Opened = { close(): Promise<void> }[];
