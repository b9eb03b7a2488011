/** Context that a platform is opened with. */
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
  /** Logs the part that is being opened when it takes long. */
  readonly steps: Pick<SlowSteps, 'begin'>;
  /** The base URL that clients use. */
  readonly issuer: string;
  /** Absent: a single daemon with embedded state. */
  readonly replicated?: ReplicatedPlatform | undefined;
}
