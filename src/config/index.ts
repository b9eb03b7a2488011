/** Public names of `config/`: other folders import this file alone. */
export {
  ConfigFeed,
  type ConfigListener,
  type PlatformConfigSource,
} from './config-feed.ts';
export { ConfigFileError, readConfigFile } from './config-file.ts';
export { credentialFileProblem } from './credential-files.ts';
export type { PlatformConfig } from './platform-config.ts';
export type { MissingVariable } from './references.ts';
export { type SecretStoreBlock, secretStoreAt, secretStoreBlocks } from './secret-stores.ts';
export type { AuditConfig, AuditRule } from './sections/audit.ts';
export type { AuthConfig } from './sections/auth.ts';
export type { OIDCConfig } from './sections/auth-oidc.ts';
export type { ProviderAConfig } from './sections/auth-provider-a.ts';
export type { ProviderBConfig } from './sections/auth-provider-b.ts';
export type { ProviderCConfig } from './sections/auth-provider-c.ts';
export type { ProviderDConfig } from './sections/auth-provider-d.ts';
export type { SAMLConfig } from './sections/auth-saml.ts';
export type { CostControlConfig, CostControlPrice } from './sections/cost-control.ts';
export type { SecretStoreConfig } from './sections/secret-store.ts';
export type { UISettingsConfig } from './sections/ui-settings.ts';
export { platformSettings, uiSettings } from './shown-settings.ts';
export { type SignInInfo, signInInfo, uncheckedProviders } from './sign-in.ts';
