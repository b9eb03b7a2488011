/** What the configuration says of the provider and of its clients. */
import type { PlatformConfig } from '../config/index.ts';

export type OidcConfig = NonNullable<PlatformConfig['oidc']>;
export type OidcClientConfig = NonNullable<OidcConfig['clients']>[number];
