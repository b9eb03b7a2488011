/** Public names of `console/`: other folders import this file alone. */
export { type ConsoleAssets, type Encoding, readConsoleAssets } from './assets.ts';
