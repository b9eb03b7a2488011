/** Registry of kinds without write verbs, or whose writes happen elsewhere. */

import { noSuchRoute, notFound } from '../apimachinery/index.ts';
import type { Store } from '../state/index.ts';
import type { ObjectRegistry } from './registry.ts';
import { keyOf } from './writes/write-context.ts';

export function readOnlyRegistry(store: Pick<Store, 'get'>): ObjectRegistry {
  const refuse = (): Promise<never> => Promise.reject(noSuchRoute());
  return {
    get: (target) => {
      const found = store.get(keyOf(target));
      if (found === undefined) throw notFound(target.kind, target.name);
      return found;
    },
    create: refuse,
    update: refuse,
    delete: refuse,
  };
}
