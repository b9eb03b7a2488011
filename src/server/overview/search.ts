/**
 * GET `/search`: objects of all kinds by kind, name, display name, label and owner, best match first.
 * The caller finds the objects that it may list or get; no other object counts.
 */
import {
  badRequest,
  isRecord,
  keyString,
  noSuchRoute,
  type User,
  Yielding,
} from '../../apimachinery/index.ts';
import { GRANT_PREFIX, type Kind, ownerOf } from '../../kinds/index.ts';
import type { StoredObject } from '../../state/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { Answer } from '../output/answer.ts';
import { SEARCH_PATH } from '../paths.ts';
import type { ApiRequest } from '../request.ts';
import { documentAnswer } from './document-answer.ts';
import { type Indexed, ObjectIndex } from './object-index.ts';
import { parseSearch, type SearchFacts, type SearchQuery } from './search-query.ts';
import { namesOf } from './summary.ts';
import { UserSlots } from './user-slots.ts';
import { Visibility } from './visibility.ts';

const USUAL_LIMIT = 20;
const MOST_LIMIT = 100;
const MOST_RUNNING = 32;
const MOST_RUNNING_OF_ONE = 8;
const BETWEEN_LOOKS = 128;

/** Undefined for other paths. */
export function searchRoute(
  deps: ServerDependencies,
): (request: ApiRequest) => Promise<Answer> | undefined {
  const { kinds, store } = deps;
  const index = searchIndex({ kinds, store });
  const running = new UserSlots(MOST_RUNNING, MOST_RUNNING_OF_ONE);
  return (request) => {
    const { path, verb } = request.info;
    if (path !== SEARCH_PATH) return undefined;
    if ((verb !== 'get' && verb !== 'head') || request.user === undefined) throw noSuchRoute();
    return answer(request, request.user);
  };

  async function answer(request: ApiRequest, user: User): Promise<Answer> {
    const { query } = request.info;
    const limit = Number(query.get('limit') ?? USUAL_LIMIT);
    if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LIMIT) {
      throw badRequest(`limit: must be a number from 1 to ${MOST_LIMIT}`);
    }
    const parsed = parseSearch(query.get('q') ?? '');
    return await running.run(user.name, 'searches run', async () => {
      const seen = new Visibility(deps, user);
      const { best, total } = await find(index, { query: parsed, seen, limit });
      const items = best.map((found) => itemOf(deps, found));
      return documentAnswer(request, { kind: 'SearchResult', items, total });
    });
  }
}

type SearchIndex = ObjectIndex<SearchFacts>;

export function searchIndex({
  kinds,
  store,
  idleMs,
}: Pick<ServerDependencies, 'kinds' | 'store'> & {
  /** For tests. */
  readonly idleMs?: number;
}): SearchIndex {
  return new ObjectIndex({
    ...(idleMs === undefined ? {} : { idleMs }),
    kinds: kinds.kinds.filter(({ verbs }) => verbs.includes('list')),
    store,
    factsOf: (_kind, stored) => factsOf(stored),
  });
}

/** Most objects have neither and are not parsed. */
const MARKS = ['"owner":{', '"displayName":'].map((mark) => Buffer.from(mark));

/** Derived roles are left out: the object that grants them is found. */
function factsOf(stored: StoredObject): SearchFacts | undefined {
  const { name, namespace } = stored.key;
  if (name.startsWith(GRANT_PREFIX)) return undefined;
  const bytes = stored.json();
  const facts = { name: name.toLowerCase(), namespace, labels: stored.labels };
  if (!MARKS.some((mark) => bytes.includes(mark))) return { ...facts, displayName: '', owner: '' };
  const { object } = stored;
  const { user, team } = ownerOf(object);
  const owner = user !== undefined ? `user/${user}` : team !== undefined ? `team/${team}` : '';
  const shown = isRecord(object.spec) ? object.spec['displayName'] : undefined;
  const displayName = typeof shown === 'string' ? shown.toLowerCase() : '';
  return { ...facts, displayName, owner: owner.toLowerCase() };
}

interface Found extends Indexed<SearchFacts> {
  readonly kind: Kind;
  readonly rank: number;
  readonly id: string;
}

export async function find(
  index: SearchIndex,
  of: { readonly query: SearchQuery; readonly seen: Visibility; readonly limit: number },
): Promise<{ readonly best: readonly Found[]; readonly total: number }> {
  const { query, seen, limit } = of;
  const best: Found[] = [];
  let total = 0;
  const pauses = new Yielding();
  let looked = 0;
  for (const [kind, entries] of await index.kinds()) {
    if (!query.fitsKind(kind)) continue;
    for (const { key, facts } of entries.values()) {
      if (looked++ % BETWEEN_LOOKS === 0) await pauses.take();
      const rank = query.rank(facts);
      if (rank === 0 || !seen.maySee(kind, key)) continue;
      total++;
      insert(best, { kind, key, facts, rank, id: keyString(key) }, limit);
    }
  }
  return { best, total };
}

/** Keeps the best matches in order. */
function insert(best: Found[], found: Found, limit: number): void {
  const last = best.at(-1);
  if (best.length === limit && last !== undefined && !isBefore(found, last)) return;
  let low = 0;
  let high = best.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = best[middle];
    if (other !== undefined && isBefore(found, other)) high = middle;
    else low = middle + 1;
  }
  best.splice(low, 0, found);
  if (best.length > limit) best.pop();
}

/** Of equal ranks, shorter names come first. */
function isBefore(a: Found, b: Found): boolean {
  if (a.rank !== b.rank) return a.rank > b.rank;
  const difference = a.facts.name.length - b.facts.name.length;
  return difference === 0 ? a.id < b.id : difference < 0;
}

function itemOf(
  { store }: Pick<ServerDependencies, 'store'>,
  { kind, key, facts, rank }: Found,
): object {
  const { owner, labels } = facts;
  const displayName =
    facts.displayName === '' ? undefined : store.get(key)?.object.spec?.['displayName'];
  return {
    ...namesOf(kind, key),
    ...(displayName === undefined ? {} : { displayName }),
    ...(owner === '' ? {} : { owner }),
    ...(labels === undefined || Object.keys(labels).length === 0 ? {} : { labels }),
    rank: Math.round(rank),
  };
}
