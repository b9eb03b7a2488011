// biome-ignore-all lint/performance/noBarrelFile: other packages need one door, and this code does
// not import it
/** The client for other programs: `import … from 'gitplane/client'`. */
export type * from './api.ts';
export { ApiError, ConnectionError } from './api-error.ts';
export { ApiClient, type ClientOptions, createClient, type WatchEvent } from './client.ts';
export type { Ask, Transport, TransportOptions } from './transport.ts';
