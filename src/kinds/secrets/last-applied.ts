/** Annotation in which kubectl stores a copy of the applied object. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
