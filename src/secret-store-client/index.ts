/** Public names of `secret-store-client/`. */
export { isStoreWide, retryAfterMs, StoreClient } from './client.ts';
export { kv1 } from './kv1.ts';
export { kv2 } from './kv2.ts';
export { type FolderList, type Listing, listFolder, listVersions } from './listing.ts';
export { type Login, LoginSession } from './login.ts';
export { checkNamespace, detectMount, type Mount } from './mount.ts';
export { TokenKeeper } from './token.ts';
export {
  httpTransport,
  type StoreRequest,
  type StoreResponse,
  type Transport,
  TransportError,
  type TransportTls,
} from './transport.ts';
