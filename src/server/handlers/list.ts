/** GET of a collection: snapshots, selectors and pages (Kubernetes API, sections 2.5 and 2.6). */
import { badRequest, expired } from '../../apimachinery/index.ts';
import type { Past, PastPoint } from '../../history/index.ts';
import { CompactedError, type ObjectList, type StoredObject } from '../../state/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { waitForVersion } from '../filters/freshness.ts';
import { type Continuation, formatContinue, parseContinue } from '../input/continue-token.ts';
import { type ListOptions, parseListOptions } from '../input/list-options.ts';
import { parsePast } from '../input/past.ts';
import type { Answer } from '../output/answer.ts';
import { encodeList, preparedParts, type ReadyObject } from '../output/representation.ts';
import type { ListMeta } from '../output/table.ts';
import { lifeOf, pastFilter } from '../past-filter.ts';
import { collectionOf, type ResourceRequest } from '../request.ts';
import { selected, selectsAll } from '../selection.ts';
import { REVISION_HEADER, refuseUnjudgedSecrets } from './past.ts';
import { answerForm, shownToReader } from './shared.ts';

/** The listed state: a version of the journal, or a commit. */
interface Snapshot extends Pick<ObjectList, 'items'> {
  readonly resourceVersion?: number;
  /** Commit that the list is from. */
  readonly point?: PastPoint;
  /** True if it may have objects that are deleted by now. */
  readonly isPast: boolean;
}

export async function handleList(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  const form = answerForm(deps, request, 'list');
  const { query } = request.info;
  const options = parseListOptions(query, request.kind, 'list');
  const past = parsePast(query);
  const from = continuation(request, options);
  const snapshot: Snapshot =
    past === undefined
      ? await takeSnapshot(deps, request, { options, from })
      : await takePast(deps, request, { past, from });
  const start = from === undefined ? 0 : firstAfter(snapshot.items, from);
  const plain = selectsAll(options);
  const all = start === 0 ? snapshot.items : snapshot.items.slice(start);
  const chosen = await selected(options, all);
  const filter = snapshot.isPast ? pastFilter(deps, request) : undefined;
  const matching = filter === undefined ? chosen : chosen.filter((item) => filter(lifeOf(item)));
  const { limit } = options;
  const items = limit === 0 || matching.length <= limit ? matching : firstOf(matching, limit);
  const metadata = listMeta({ snapshot, matching, items, plain });
  const { point } = snapshot;
  if (point !== undefined) refuseUnjudgedSecrets(request.kind, items, point);
  const headers = point === undefined ? {} : { [REVISION_HEADER]: point.revision };
  const shown = shownItems(deps, request, { items, isPast: point !== undefined });
  const { kind } = request;
  const parts = await preparedParts(kind, shown, form);
  return { code: 200, headers, ...encodeList(kind, { metadata, items: shown, parts }, form) };
}

/** First pages by their list, which the store returns until an object in it changes: bytes are kept by page. */
const firstPages = new WeakMap<Snapshot['items'], Snapshot['items']>();

function firstOf(items: Snapshot['items'], limit: number): Snapshot['items'] {
  const known = firstPages.get(items);
  if (known?.length === limit) return known;
  const page = items.slice(0, limit);
  firstPages.set(items, page);
  return page;
}

function shownItems(
  deps: ServerDependencies,
  request: ResourceRequest,
  of: { readonly items: Snapshot['items']; readonly isPast: boolean },
): readonly ReadyObject[] {
  if (request.kind.forReaders === undefined) return of.items;
  return of.items.map((ready) =>
    shownToReader(deps, request, { ready, name: of.isPast ? '' : ready.key.name }),
  );
}

/** All pages are from the commit of the first page, even if `atTime` now means another one. */
async function takePast(
  deps: ServerDependencies,
  request: ResourceRequest,
  { past, from }: { past: Past; from: Continuation | undefined },
): Promise<Snapshot> {
  if (from === undefined || from.revision === undefined) {
    if (from !== undefined) throw badRequest(`${FOREIGN_TOKEN} a list of the present`);
    return await listOf(deps, request, past);
  }
  const { revision } = from;
  if ('revision' in past && !revision.startsWith(past.revision)) {
    throw badRequest(`${FOREIGN_TOKEN} another commit`);
  }
  return await listOf(deps, request, { revision });
}

async function listOf(
  deps: ServerDependencies,
  request: ResourceRequest,
  past: Past,
): Promise<Snapshot> {
  const point = await deps.history.find(past);
  const items = await deps.history.listAt(request.kind, collectionOf(request), point);
  return { items, point, isPast: true };
}

const FOREIGN_TOKEN = 'continue key is not valid: the token belongs to';

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
): Promise<Snapshot> {
  const collection = collectionOf(request);
  const { options, from } = wish;
  const newest = (): Snapshot => ({ ...deps.store.list(collection), isPast: false });
  if (from !== undefined) {
    if (from.revision !== undefined) throw badRequest(`${FOREIGN_TOKEN} a list of the past`);
    return from.resourceVersion < 0 ? newest() : continued(deps, request, from);
  }
  const wanted = options.resourceVersion;
  if (wanted === undefined || wanted === 0) return newest();
  await waitForVersion(deps, request, wanted);
  const exact = options.match === 'Exact' || (options.match === undefined && options.limit > 0);
  if (!exact) return newest();
  try {
    return { ...deps.store.listAt(collection, wanted), isPast: true };
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
): Snapshot {
  try {
    return { ...deps.store.listAt(collectionOf(request), from.resourceVersion), isPast: true };
  } catch (error) {
    if (!(error instanceof CompactedError)) throw error;
    const metadata = { continue: formatContinue({ ...from, resourceVersion: -1 }) };
    throw expired(SNAPSHOT_GONE, metadata);
  }
}

/** Index of the first item after a position. Items are ordered bytewise by (namespace, name). */
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
  snapshot: Snapshot;
  matching: readonly StoredObject[];
  items: readonly StoredObject[];
  plain: boolean;
}): ListMeta {
  const { snapshot, matching, items } = of;
  const { point, resourceVersion } = snapshot;
  const version = resourceVersion === undefined ? {} : { resourceVersion: String(resourceVersion) };
  const last = items.at(-1);
  const left = matching.length - items.length;
  if (left === 0 || last === undefined) return version;
  const { namespace, name } = last.key;
  const at = point === undefined ? {} : { revision: point.revision };
  const position = { resourceVersion: resourceVersion ?? -1, namespace, name, ...at };
  const remaining = of.plain ? { remainingItemCount: left } : {};
  return { ...version, continue: formatContinue(position), ...remaining };
}
