/** Finalizers with a special meaning (reference: Kubernetes API, section 2.13). */

/** The owner stays until the dependents that block its deletion are gone. */
export const FOREGROUND = 'foregroundDeletion';
/** Dependents lose their reference to the owner before the owner is removed. */
export const ORPHAN = 'orphan';
