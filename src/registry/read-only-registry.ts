/** Registry of kinds without write verbs, or whose writes happen elsewhere. */
import { noSuchRoute, notFound } from '../apimachinery/index.ts';
import type { Store } from '../state/index.ts';
import type { ObjectRegistry } from './registry.ts';

export function readOnlyRegistry(store: Pick<Store, 'get'>): ObjectRegistry {
  const refuse = (): Promise<never> => Promise.reject(noSuchRoute());
  return {
    get: ({ kind, namespace, name }) => {
      const found = store.get({ group: kind.group, kind: kind.kind, namespace, name });
      if (found === undefined) throw notFound(kind, name);
      return found;
    },
    create: refuse,
    update: refuse,
    delete: refuse,
  };
}
