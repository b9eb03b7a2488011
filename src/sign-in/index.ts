/** Public names of `sign-in/`: other folders import this file alone. */
export type {
  Accounts,
  AdmittedIdentity,
  LoginKey,
  NewLoginKey,
  PersistedIdentity,
} from './accounts.ts';
export { isChallenge } from './cli-codes.ts';
export type { Callback, ProvidedIdentity, ProviderRedirect } from './connector.ts';
export { ConnectorSet } from './connectors/connector-set.ts';
export type { ConnectorFactories } from './connectors/factories.ts';
export {
  type CookieUse,
  cookieName,
  csrfToken,
  isCsrfToken,
  isOwnRequest,
  isSameOrigin,
  readCookie,
  setCookie,
} from './cookies.ts';
export type { DeviceRequest } from './device-codes.ts';
export { accountNames, teamNameOf } from './names.ts';
export { PasswordLogin } from './password-login.ts';
export { type Approval, shownText } from './programs.ts';
export { IdentityRefresher } from './refresh.ts';
export { safeReturnTo } from './return-to.ts';
export { SignIn } from './sign-in.ts';
export { SignInError, tooManyAttempts } from './sign-in-error.ts';
export { random } from './transactions.ts';
