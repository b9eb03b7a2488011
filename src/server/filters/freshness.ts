/** Reads "not older than": waits briefly for a version that the store has not reached. */
import { resourceVersionTooLarge } from '../../apimachinery/index.ts';
import type { Collection } from '../../state/index.ts';
import type { ServedStore, ServerDependencies } from '../dependencies.ts';
import { collectionOf, type ResourceRequest } from '../request.ts';
import { attributesOf, authorizeRequest } from './access.ts';

const TIMEOUT_MS = 3000;

/**
 * Resolves when the store has reached `version`. Throws 504 after 3 s, and 403 if the right is gone by
 * then: another object may have the name.
 */
export async function waitForVersion(
  deps: ServerDependencies,
  request: ResourceRequest,
  version: number,
): Promise<void> {
  const { store } = deps;
  if (store.resourceVersion >= version) return;
  const reached = await reaches(store, collectionOf(request), version);
  if (!reached && store.resourceVersion < version) {
    throw resourceVersionTooLarge(version, store.resourceVersion);
  }
  authorizeRequest(deps, request.user, attributesOf(request.info, deps.kinds));
}

function reaches(store: ServedStore, collection: Collection, version: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => finish(false), TIMEOUT_MS);
    const stop = store.observe(collection, () => {
      if (store.resourceVersion >= version) finish(true);
    });
    function finish(done: boolean): void {
      clearTimeout(timer);
      stop();
      resolve(done);
    }
  });
}
