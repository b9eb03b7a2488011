/** Public names of `kinds/`: other folders import this file alone. */

export {
  type AccessGrant,
  accessGrants,
  GRANT_PREFIX,
  grantName,
  namesInAccess,
  ownerGrant,
  ownerOf,
} from './access/access-grants.ts';
export { accessRulesOf, ineffectiveSubresources } from './access/access-rules.ts';
export { roleAssignments, underGroupsPrefix } from './access/assigned-cluster-roles.ts';
export { bondOf, isBindable, mayHaveBonds } from './bound-objects.ts';
export { AGE, HEALTH } from './columns.ts';
export { configDefaults, parseConfigRaw, placeInRaw } from './config/config-raw.ts';
export { type DataStoreEndpoint, readDataStoreEndpoint } from './config/data-store-endpoint.ts';
export { literalText, namedVariable, referenceTexts } from './config/environment-references.ts';
export { isSharedTenant, PERSONAL_TENANT } from './config/multi-organization-tenants.ts';
export { nameIdFormat } from './config/name-id-formats.ts';
export { parseQuantity } from './config/quantity.ts';
export { pemInField, rootsProblem } from './config/root-certificates.ts';
export {
  CertificateError,
  certificateText,
  signingCertificates,
} from './config/signing-certificates.ts';
export { isColor, isImage, isPageUrl } from './config/value-rules.ts';
export {
  accessKeyPrefix,
  concealAccessKey,
  findAccessKey,
  hasValidChecksum,
  isConcealedAccessKey,
  mintAccessKey,
} from './credentials/access-key.ts';
export {
  hasKeyOwner,
  isKeyOwner,
  KEY_KIND,
  keyOwnership,
  OWNER_FOUND,
  ownerKindOf,
} from './credentials/key-owner.ts';
export {
  formatPasswordHash,
  type PasswordHash,
  parsePasswordHash,
} from './credentials/password-hash.ts';
export {
  type ActingNames,
  apiVersionOf,
  countsGenerations,
  type Kind,
  type Membership,
  type PrinterColumn,
  RBAC_GROUP,
} from './kind.ts';
export { CONFIG_MAP } from './kubernetes/config-map.ts';
export { DEFINITION } from './kubernetes/custom-resource-definition.ts';
export { ENDPOINTS } from './kubernetes/endpoints.ts';
export { CORE_EVENT, EVENT, NEW_EVENT } from './kubernetes/event.ts';
export { convertEvent } from './kubernetes/event-versions.ts';
export { RELEASE } from './kubernetes/helm-release.ts';
export { LEASE } from './kubernetes/lease.ts';
export { CORE_NAMESPACE, NAMESPACE } from './kubernetes/namespace.ts';
export {
  ACCESS_REVIEW,
  LOCAL_ACCESS_REVIEW,
  REVIEWS,
  SELF_ACCESS_REVIEW,
  SELF_REVIEW,
  SELF_RULES_REVIEW,
  TOKEN_REVIEW,
} from './kubernetes/reviews.ts';
export { SECRET } from './kubernetes/secret.ts';
export { SERVICE } from './kubernetes/service.ts';
export { CLIENT_KINDS, CLUSTER_KINDS, CORE_KINDS } from './kubernetes/tables.ts';
export { subjectsOf } from './rbac/binding-rules.ts';
export { CLUSTER_ROLE } from './rbac/cluster-role.ts';
export { CLUSTER_ROLE_BINDING } from './rbac/cluster-role-binding.ts';
export { ROLE } from './rbac/role.ts';
export { ROLE_BINDING } from './rbac/role-binding.ts';
export { READY_NOW, readinessOf } from './readiness.ts';
export { type CompiledSchema, compileSchema } from './schema/compiled-schema.ts';
export { customResourceDefinition } from './schema/custom-resource-definition.ts';
export { hasStatus, openApiSchema } from './schema/openapi-schema.ts';
export {
  schemaAt,
  schemaDocument,
  schemaNames,
  schemaPlaces,
  schemaTree,
} from './schema/schema-files.ts';
export {
  annotateProjectSecret,
  dataToCopy,
  grantedProjectSecret,
  isCopyingDisabled,
  ownPart,
  PROJECT_NAMESPACE,
  PROJECT_SECRET_KIND,
  PROJECT_SECRET_UID,
  wantedProjectSecret,
} from './secrets/derived-secrets.ts';
export { LAST_APPLIED } from './secrets/last-applied.ts';
export {
  besideSecrets,
  MASK,
  masked,
  type SecretPaths,
  secretsOf,
  valuesAt,
} from './secrets/masking.ts';
export { secretDataOf } from './secrets/secret-data.ts';
export {
  isEncryptedKind,
  sealedKinds,
  secretKeys,
  secretPlaces,
  sourcesOfSecrets,
} from './secrets/secret-places.ts';
export {
  DEFAULT_STORE,
  linkAnnotations,
  mentionsLink,
  PULL_LABEL,
  placeOf,
  STORE_ANNOTATION,
  type StoreLink,
  storeLinkOf,
  storeLinkProblems,
} from './secrets/store-link.ts';
export { syncedTenant, type TenantChange, tenantVersions } from './synced-tenant.ts';
export { buildKindTable, type FileClaim, type KindTable, tableOf } from './table.ts';
export { type KubeconfigSource, settingsOf, type TenantSettings } from './tenant.ts';
