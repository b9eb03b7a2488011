/** Reads "not older than": a version from the future is waited for, briefly. */
import { resourceVersionTooLarge } from '../apimachinery/status-error.ts';
import type { Collection } from '../state/store.ts';
import type { ServedStore } from './dependencies.ts';

const PATIENCE_MS = 3000;

/** Resolves when the store has reached `version`; throws 504 when it does not within 3 s. */
export async function waitForVersion(
  store: ServedStore,
  collection: Collection,
  version: number,
): Promise<void> {
  if (store.resourceVersion >= version) return;
  const reached = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => finish(false), PATIENCE_MS);
    const stop = store.observe(collection, () => {
      if (store.resourceVersion >= version) finish(true);
    });
    function finish(done: boolean): void {
      clearTimeout(timer);
      stop();
      resolve(done);
    }
  });
  if (!reached && store.resourceVersion < version) {
    throw resourceVersionTooLarge(version, store.resourceVersion);
  }
}
