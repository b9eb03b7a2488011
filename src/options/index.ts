/** Public names of `options/`: other folders import this file alone. */
export {
  CREDENTIAL_OPTIONS,
  KEYS_OPTIONS,
  KUBECONFIG_OPTIONS,
  LOGIN_OPTIONS,
  SECRETS_OPTIONS,
  TOKEN_OPTIONS,
  USERS_OPTIONS,
  WHOAMI_OPTIONS,
} from './client-options.ts';
export { describeOptions } from './describe-options.ts';
export {
  CRDS_OPTIONS,
  PATCHES_OPTIONS,
  PLAN_OPTIONS,
  VALIDATE_OPTIONS,
} from './manifest-options.ts';
export { DOCTOR_OPTIONS, STATE_OPTIONS } from './operator-options.ts';
export type { OptionSpec } from './option-spec.ts';
export { type ParsedOptions, parseOptions, UsageError } from './parse-options.ts';
export { EDIT_OPTIONS, REKEY_OPTIONS, SEAL_OPTIONS, UNSEAL_OPTIONS } from './sealing-options.ts';
export { SERVE_OPTIONS } from './serve-options.ts';
export { type Address, parseAddress, readChoice, readNumber, readPath } from './values.ts';
