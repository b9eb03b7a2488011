/** Public names of `oidc-server/`: other folders import this file alone. */
export { LOGIN_ANNOTATIONS } from './persisted-login.ts';
export { type Handled, OidcServer, type ProviderKeys } from './oidc-server.ts';
export type { Person, PersonSession } from './account-claims.ts';
