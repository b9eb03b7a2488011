/** Public names of `forges/`: other folders import this file alone. */
export type { ForgeAccess } from './api-client.ts';
export {
  type Annotation,
  type CommitStatus,
  FORGE_TYPES,
  type Forge,
  type ForgeTarget,
  type Pull,
  type StatusState,
} from './forge.ts';
export { forgeTarget } from './forge-target.ts';
export { codeBlock } from './markdown.ts';
export { openForge } from './open-forge.ts';
