/** Public names of `client/`: other folders import this file alone. */
export type {
  AccessChange,
  AccessExplanation,
  AccessGrant,
  AccessList,
  AuditEvent,
  Commit,
  CommitList,
  CommitSignature,
  Comparison,
  DegradedObject,
  DerivedChanges,
  FieldChange,
  HeldSummary,
  ListMeta,
  NamedObject,
  ObjectBlame,
  ObjectHistory,
  ObjectSource,
  Plan,
  PlanChange,
  PlanEffects,
  PushSummary,
  SearchResult,
  Summary,
  SyncStatus,
  TenantSync,
  WriteEffect,
  WritePreview,
} from './api.ts';
export { ApiError } from './api-error.ts';
export { ApiClient, type ClientOptions } from './client.ts';
export { type Ask, linesOf, sleep } from './transport.ts';
