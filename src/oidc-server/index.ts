/** Public names of `oidc-server/`: other folders import this file alone. */

export type { Person, PersonSession } from './account-claims.ts';
export { type Handled, OidcServer, type ProviderKeys } from './oidc-server.ts';
export { LOGIN_ANNOTATIONS } from './persisted-login.ts';
