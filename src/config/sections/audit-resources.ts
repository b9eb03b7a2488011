/**
 * A part of the configuration, with defaults.
 * Generated from schemas/audit-resources.json by `npx tsx scripts/docs.ts`.
 */
/** Kinds of resources in one API group. */
export interface AuditResourcesConfig {
  /** API group. Empty is the core group, `*` every group. */
  readonly group?: string;
  /** Plural names. `*` stands for all, `pods/*` for the subresources of pods, `*\/scale` for every scale subresource. Empty means every resource in the group. */
  readonly resources?: readonly string[];
  /** Names of single objects. Needs `resources`; empty means every object. */
  readonly resourceNames?: readonly string[];
}
