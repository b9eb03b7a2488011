/** Public names of `kinds/`: other folders import this file alone. */

export { accessRulesOf, ineffectiveSubresources } from './access.ts';
export {
  type AccessGrant,
  accessGrants,
  GRANT_PREFIX,
  grantName,
  namesInAccess,
  ownerGrant,
  ownerOf,
} from './access-grants.ts';
export {
  accessKeyPrefix,
  concealAccessKey,
  findAccessKey,
  hasValidChecksum,
  isConcealedAccessKey,
  mintAccessKey,
} from './access-key-secret.ts';
export { roleAssignments, underGroupsPrefix } from './assigned-roles.ts';
export { CLIENT_KINDS, CONFIG_MAP, RELEASE } from './client-kinds.ts';
export { CLUSTER_KINDS, ENDPOINTS, EVENT, NAMESPACE, SECRET, SERVICE } from './cluster-kinds.ts';
export { CLUSTER_ROLE } from './cluster-role.ts';
export { CLUSTER_ROLE_BINDING } from './cluster-role-binding.ts';
export { AGE, HEALTH } from './columns.ts';
export { configDefaults, parseConfigRaw, placeInRaw } from './config-raw.ts';
export { isColor, isImage, isPageUrl } from './config-value-rules.ts';
export {
  dataToCopy,
  grantedProjectSecret,
  isCopyingDisabled,
  noteProjectSecret,
  ownPart,
  PROJECT_NAMESPACE,
  PROJECT_SECRET_KIND,
  wantedProjectSecret,
} from './copying.ts';
export { CORE_EVENT, CORE_KINDS, CORE_NAMESPACE, DEFINITION, NEW_EVENT } from './core-kinds.ts';
export { customResourceDefinition } from './custom-resource.ts';
export { type DataStoreEndpoint, readDataStoreEndpoint } from './data-store-endpoint.ts';
export { literalText, namedVariable, referenceTexts } from './environment-references.ts';
export { inForm } from './event-forms.ts';
export {
  hasKeyOwner,
  isKeyOwner,
  KEY_KIND,
  keyOwnership,
  OWNER_FOUND,
  ownerKindOf,
} from './key-owner.ts';
export {
  type ActingNames,
  apiVersionOf,
  countsGenerations,
  type Kind,
  type Membership,
  type PrinterColumn,
  RBAC_GROUP,
} from './kind.ts';
export { LEASE } from './lease.ts';
export { MASK, masked, type SecretPaths } from './masking.ts';
export { nameIdFormat } from './name-id-formats.ts';
export { hasStatus, openApiSchema } from './openapi-schema.ts';
export { formatPasswordHash, type PasswordHash, parsePasswordHash } from './password-hash.ts';
export { syncedTenant, type TenantChange, tenantVersions } from './patched-tenant.ts';
export { subjectsOf } from './rbac-bindings.ts';
export {
  ACCESS_REVIEW,
  LOCAL_ACCESS_REVIEW,
  REVIEWS,
  SELF_ACCESS_REVIEW,
  SELF_REVIEW,
  SELF_RULES_REVIEW,
  TOKEN_REVIEW,
} from './reviews.ts';
export { ROLE } from './role.ts';
export { ROLE_BINDING } from './role-binding.ts';
export { pemInField, rootsProblem } from './root-certificates.ts';
export { type CompiledSchema, compileSchema } from './schema.ts';
export { schemaAt, schemaDocument, schemaNames, schemaTree } from './schema-files.ts';
export { secretDataOf } from './secret-data.ts';
export { sealedKinds, secretKeys, secretPlaces } from './secret-places.ts';
export { isSharedTenant, PERSONAL_TENANT } from './shared-tenants.ts';
export { CertificateError, certificateText, signingCertificates } from './signing-certificates.ts';
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
} from './store-link.ts';
export { buildKindTable, type FileClaim, type KindTable, tableOf } from './table.ts';
export { type KubeconfigSource, settingsOf, type TenantSettings } from './tenant.ts';
