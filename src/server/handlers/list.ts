/** GET of a collection: snapshots, selectors and pages (Kubernetes API, sections 2.5 and 2.6). */
import { expired } from '../../apimachinery/status-error.ts';
import { CompactedError, type ObjectList, type StoredObject } from '../../state/store.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { waitForVersion } from '../freshness.ts';
import { type Continuation, formatContinue, parseContinue } from '../input/continue-token.ts';
import { type ListOptions, parseListOptions } from '../input/list-options.ts';
import type { Answer } from '../output/answer.ts';
import { encodeList } from '../output/representation.ts';
import type { ListMeta } from '../output/table.ts';
import type { ResourceRequest } from '../request.ts';
import { selects, selectsAll } from '../selection.ts';
import { answerForm, collectionOf } from './shared.ts';

export async function handleList(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  const form = answerForm(deps, request, 'list');
  const options = parseListOptions(request.info.query, request.kind, 'list');
  const from = continuation(request, options);
  const snapshot = await takeSnapshot(deps, request, { options, from });
  const start = from === undefined ? 0 : firstAfter(snapshot.items, from);
  const plain = selectsAll(options);
  const all = start === 0 ? snapshot.items : snapshot.items.slice(start);
  const matching = plain ? all : all.filter((stored) => selects(options, stored));
  const { limit } = options;
  const items = limit === 0 || matching.length <= limit ? matching : matching.slice(0, limit);
  const metadata = listMeta({ snapshot, matching, items, plain });
  return { code: 200, ...encodeList(request.kind, { metadata, items }, form) };
}

function continuation(
  { kind, info }: ResourceRequest,
  options: ListOptions,
): Continuation | undefined {
  if (options.continueToken === '') return undefined;
  const namespace = info.namespace === '' ? undefined : info.namespace;
  return parseContinue(options.continueToken, {
    namespaced: kind.scope === 'Namespaced',
    namespace,
  });
}

async function takeSnapshot(
  deps: ServerDependencies,
  request: ResourceRequest,
  wish: { options: ListOptions; from: Continuation | undefined },
): Promise<ObjectList> {
  const collection = collectionOf(request);
  const { options, from } = wish;
  if (from !== undefined) {
    return from.resourceVersion < 0 ? deps.store.list(collection) : continued(deps, request, from);
  }
  const wanted = options.resourceVersion;
  if (wanted === undefined || wanted === 0) return deps.store.list(collection);
  await waitForVersion(deps.store, collection, wanted);
  const exact = options.match === 'Exact' || (options.match === undefined && options.limit > 0);
  if (!exact) return deps.store.list(collection);
  try {
    return deps.store.listAt(collection, wanted);
  } catch (error) {
    if (!(error instanceof CompactedError)) throw error;
    throw expired('The resourceVersion for the provided list is too old.');
  }
}

const SNAPSHOT_GONE =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

function continued(
  deps: ServerDependencies,
  request: ResourceRequest,
  from: Continuation,
): ObjectList {
  try {
    return deps.store.listAt(collectionOf(request), from.resourceVersion);
  } catch (error) {
    if (!(error instanceof CompactedError)) throw error;
    const metadata = { continue: formatContinue({ ...from, resourceVersion: -1 }) };
    throw expired(SNAPSHOT_GONE, metadata);
  }
}

/** Index of the first item behind a position; items are ordered by (namespace, name) bytewise. */
function firstAfter(items: readonly StoredObject[], from: Continuation): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const key = items[middle]?.key;
    if (key !== undefined && isAfter(key, from)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function isAfter(key: { namespace: string; name: string }, from: Continuation): boolean {
  const byNamespace = Buffer.compare(Buffer.from(key.namespace), Buffer.from(from.namespace));
  if (byNamespace !== 0) return byNamespace > 0;
  return Buffer.compare(Buffer.from(key.name), Buffer.from(from.name)) > 0;
}

function listMeta(of: {
  snapshot: ObjectList;
  matching: readonly StoredObject[];
  items: readonly StoredObject[];
  plain: boolean;
}): ListMeta {
  const { snapshot, matching, items } = of;
  const resourceVersion = String(snapshot.resourceVersion);
  const last = items.at(-1);
  const left = matching.length - items.length;
  if (left === 0 || last === undefined) return { resourceVersion };
  const { namespace, name } = last.key;
  const position = { resourceVersion: snapshot.resourceVersion, namespace, name };
  const remaining = of.plain ? { remainingItemCount: left } : {};
  return { resourceVersion, continue: formatContinue(position), ...remaining };
}
