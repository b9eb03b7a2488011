/** What the server is handed; it makes nothing of this itself. */
import type { Clock } from '../apimachinery/clock.ts';
import type { Authorizer, User } from '../apimachinery/request.ts';
import type { KindTable } from '../kinds/table.ts';
import type { Registry } from '../registry/registry.ts';
import type { Store } from '../state/store.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { GitService } from './git.ts';
import type { HealthChecks } from './health.ts';

/** Who a bearer token stands for, or why it stands for nobody. */
export type Authenticate = (
  token: string,
) => { readonly user: User } | { readonly message: string };

export interface ServerDependencies {
  readonly kinds: KindTable;
  readonly store: Store;
  readonly registry: Registry;
  readonly authenticate: Authenticate;
  readonly authorizer: Authorizer;
  readonly git: GitService;
  readonly health: HealthChecks;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly version: string;
  /** `/kubernetes/management`. */
  readonly root: string;
  /** Facts of the platform configuration that requests depend on; asked at each request. */
  readonly settings: () => PlatformSettings;
  /** JSON Web Key Set of the keys that sign endpoint tokens. */
  readonly jwks: () => object;
}

export interface PlatformSettings {
  readonly authenticateVersionEndpoint: boolean;
  readonly disableConfigEndpoint: boolean;
}
