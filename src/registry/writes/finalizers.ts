/** Finalizers with a meaning of their own (reference: Kubernetes API, section 2.13). */

/** The owner stays until the dependents that block its deletion are gone. */
export const FOREGROUND = 'foregroundDeletion';
/** Dependents lose their reference to the owner before it goes. */
export const ORPHAN = 'orphan';
