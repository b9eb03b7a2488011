/** Configuration of the provider and its clients. */
import type { PlatformConfig } from '../config/index.ts';

export type OidcConfig = NonNullable<PlatformConfig['oidc']>;
export type OidcClientConfig = NonNullable<OidcConfig['clients']>[number];
