/** Door of `admission/`: other folders import this file alone. */
export { fillDefaults, objectProblems, objectWarnings, sameDesiredState } from './check.ts';
export type { ManifestPlace } from './manifest.ts';
export { admitManifest } from './manifest.ts';
export type { AdmittedManifest, SealedParts } from './manifest-report.ts';
