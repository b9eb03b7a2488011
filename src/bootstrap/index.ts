/** Public names of `bootstrap/`: other folders import this file alone. */
export { administratorToken, OtherAdministratorError } from './administrator.ts';
export { identitiesIn, openIdentities } from './age-key.ts';
export { type DataDirectory, openDataDirectory } from './data-directory.ts';
export { hookSecret } from './hook-secret.ts';
export { type MissingKeys, missingKeys } from './missing-keys.ts';
export { seedRepository } from './seed.ts';
export { errnoOf, StartError } from './start-error.ts';
