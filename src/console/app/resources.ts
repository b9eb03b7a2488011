/** Kinds that the API serves, and how the console names and orders them. */
import { signal } from '@preact/signals';
import { sleep } from '../../client/index.ts';
import type { ObjectRef, Resource } from '../api/objects.ts';
import { setConnection } from './live.ts';
import { href } from './location.ts';
import { client, session } from './session.ts';

/** Empty until discovery has answered. */
export const resources = signal<readonly Resource[]>([]);

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 10_000;

/** Asks again until the server answers. */
export async function loadResources(): Promise<void> {
  const id = {};
  for (let delay = FIRST_DELAY_MS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MS)) {
    try {
      resources.value = await client.discover();
      return setConnection(id, undefined);
    } catch {
      setConnection(id, 'disconnected');
      await sleep(delay);
    }
  }
}

/** Namespace of objects that name none. */
export const DEFAULT_NAMESPACE = 'default';

/** Kinds with objects of the platform, in the order of discovery; kinds of clusters follow. */
export function listed(all: readonly Resource[]): readonly Resource[] {
  const rank = ({ group }: Resource): number =>
    group === session.group ? 0 : group === RBAC ? 1 : group === '' ? 2 : 3;
  return all
    .filter(({ verbs }) => verbs.includes('list'))
    .map((resource, at) => ({ resource, at }))
    .sort((a, b) => rank(a.resource) - rank(b.resource) || a.at - b.at)
    .map(({ resource }) => resource);
}

const RBAC = 'rbac.authorization.k8s.io';

/** In URLs: the plural, with its group where that is not the management group. */
export function slugOf({ group, name }: Pick<Resource, 'group' | 'name'>): string {
  if (group === session.group) return name;
  return group === '' ? `${name}.core` : `${name}.${group}`;
}

/** The resource of an object that a document names. */
export function named(of: {
  readonly apiVersion: string;
  readonly plural: string;
}): Pick<Resource, 'group' | 'name'> {
  const [group = '', version] = of.apiVersion.split('/');
  return { group: version === undefined ? '' : group, name: of.plural };
}

export function bySlug(all: readonly Resource[], slug: string): Resource | undefined {
  return all.find((resource) => slugOf(resource) === slug);
}

export function listHref(resource: Pick<Resource, 'group' | 'name'>, namespace?: string): string {
  return href(['objects', slugOf(resource)], { namespace });
}

/** A dash stands for the namespace of kinds without namespaces. */
export function objectHref(
  resource: Pick<Resource, 'group' | 'name'>,
  { namespace, name }: ObjectRef,
  search: Readonly<Record<string, string | undefined>> = {},
): string {
  return href(['objects', slugOf(resource), namespace || '-', name], search);
}

/** `OwnedAccessKey` as `Owned access keys`. */
export function titleOf({ kind, name }: Pick<Resource, 'kind' | 'name'>): string {
  const words = kind.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  const isSame = name === kind.toLowerCase();
  const plural = isSame
    ? words
    : words
        .replace(/([^aeiou])y$/, '$1ie')
        .replace(/(s|x)$/, '$1e')
        .concat('s');
  const text = /ndpointses$/.test(plural) ? words : plural;
  return text.charAt(0).toUpperCase() + text.slice(1);
}
