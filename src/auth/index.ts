/** Public names of `auth/`: other folders import this file alone. */
export { readLifetime } from './access-keys/access-key.ts';
export {
  AccessKeyIndex,
  type ActingAs,
  type Authenticated,
} from './access-keys/access-key-index.ts';
export { ADMIN_KEY_TYPE, ensureAdminToken, readAdminToken } from './access-keys/admin-token.ts';
export { isFromTheFuture, type KeyLifetimeLimits } from './access-keys/key-lifetime.ts';
export { ActivityTracker } from './access-keys/last-use.ts';
export {
  EndpointTokens,
  MIN_TTL_SECONDS,
  publicKeys,
  verifyEndpointToken,
} from './endpoint-tokens/endpoint-tokens.ts';
export {
  type Revocation,
  type RevocationStore,
  Revocations,
  RevocationsFullError,
} from './endpoint-tokens/revocations.ts';
export { TokenHolders } from './endpoint-tokens/token-holders.ts';
export { voidReason } from './endpoint-tokens/token-validity.ts';
export { beyondDelegatingKey } from './escalation/delegated-key-limits.ts';
export { delegationProblem } from './escalation/delegation.ts';
export { escalationProblem, isSuperuser } from './escalation/escalation.ts';
export { impersonationRefusal } from './escalation/impersonation.ts';
export { type MembershipParts, membershipRefusal } from './escalation/membership.ts';
export { teamNotToBind, teamsInBinding } from './escalation/team-binding.ts';
export { text, texts, time } from './fields.ts';
export { type Directory, DirectoryIndex, type DirectoryUser } from './identity/directory.ts';
export { resolveIdentity } from './identity/identity.ts';
export { hashPassword, PasswordChecker, TooManyPasswordsError } from './identity/password.ts';
export { isReservedGroup, userGroup } from './identity/reserved-names.ts';
export { CountingSlots } from './rate-limits/counting-slots.ts';
export { FailedLogins, networkOf, networksOf } from './rate-limits/failed-logins.ts';
export { TokenBucket } from './rate-limits/token-bucket.ts';
export {
  accessStatus,
  askedAttributes,
  askedSubject,
  rulesStatus,
  tokenStatus,
  userInfo,
} from './rbac/access-reviews.ts';
export { type AccessTrace, isGrantedTo, teamOfGroup } from './rbac/access-trace.ts';
export {
  type AccessSource,
  type ObjectName,
  RbacAuthorizer,
  type RuleSource,
} from './rbac/authorizer.ts';
export {
  CLUSTER_SUBRESOURCE,
  type ClusterApiRoot,
  clusterAuthorizer,
  isOutOfReach,
} from './rbac/cluster-authorizer.ts';
export { forbidden } from './rbac/forbidden.ts';
export { uncoveredRules } from './rbac/rule-coverage.ts';
export { ScopedAuthorizer } from './rbac/scoped-authorizer.ts';
export type { PermitContext } from './scope/permits.ts';
export { scopeOf } from './scope/scope.ts';
export { createFile, OWNER_ONLY, readIfThere, replaceFile } from './secret-file.ts';
export { KeyRing, readSigningKeys } from './signing-keys/key-ring.ts';
export type { SigningAlgorithm, SigningKey } from './signing-keys/signing-key.ts';
