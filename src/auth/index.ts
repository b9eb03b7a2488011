/** Public names of `auth/`: other folders import this file alone. */
export { readLifetime } from './access-key.ts';
export { AccessKeyIndex, type ActingAs, type Authenticated } from './access-keys.ts';
export {
  accessStatus,
  askedAttributes,
  askedSubject,
  rulesStatus,
  tokenStatus,
  userInfo,
} from './access-reviews.ts';
export { ActivityTracker } from './activity.ts';
export { ADMIN_KEY_TYPE, ensureAdminToken, readAdminToken } from './admin-token.ts';
export {
  type AccessSource,
  type ObjectName,
  RbacAuthorizer,
  type RuleSource,
} from './authorizer.ts';
export { type ClusterApiRoot, clusterAuthorizer } from './cluster-authorizer.ts';
export { CountingSlots } from './counting-slots.ts';
export { beyondDelegatingKey } from './delegated-key-limits.ts';
export { delegationProblem } from './delegation.ts';
export { type Directory, DirectoryIndex, type DirectoryUser } from './directory.ts';
export {
  EndpointTokens,
  MIN_TTL_SECONDS,
  publicKeys,
  verifyEndpointToken,
} from './endpoint-tokens.ts';
export { escalationProblem, isSuperuser } from './escalation.ts';
export { FailedLogins, networkOf } from './failed-logins.ts';
export { text, texts, time } from './fields.ts';
export { forbidden } from './forbidden.ts';
export { resolveIdentity } from './identity.ts';
export { impersonationRefusal } from './impersonation.ts';
export { isFromTheFuture, type KeyLifetimeLimits } from './key-lifetime.ts';
export { KeyRing, readSigningKeys } from './key-ring.ts';
export { type MembershipParts, membershipRefusal } from './membership.ts';
export { hashPassword, PasswordChecker, TooManyPasswordsError } from './password.ts';
export { isReservedGroup, userGroup } from './reserved-names.ts';
export {
  type Revocation,
  type RevocationStore,
  Revocations,
  RevocationsFullError,
} from './revocations.ts';
export { scopeOf } from './scope.ts';
export type { PermitContext } from './scope-permits.ts';
export { ScopedAuthorizer } from './scoped-authorizer.ts';
export { createFile, OWNER_ONLY, readIfThere, replaceFile } from './secret-file.ts';
export type { SigningAlgorithm, SigningKey } from './signing-key.ts';
export { teamNotToBind, teamsInBinding } from './team-binding.ts';
export { TokenBucket } from './token-bucket.ts';
export { TokenHolders } from './token-holders.ts';
export { voidReason } from './token-validity.ts';
