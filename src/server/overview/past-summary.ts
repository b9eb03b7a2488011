/**
 * GET `/summary` with `atRevision` or `atTime`: the commit, the number of objects, and the degraded objects of a
 * moment in the past. What only the present knows is left out. Objects count for readers who may list them:
 * a right on one name is no right on what had the name before.
 */
import { createHash } from 'node:crypto';
import { rfc3339, type User, Yielding } from '../../apimachinery/index.ts';
import type { Past, PastObject } from '../../history/index.ts';
import type { Kind } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { commitTime, subjectOf } from '../output/commit-fields.ts';
import { GIT_PATH } from '../paths.ts';
import { aboutKind, MOST_LISTED, namesOf, type Summary, shortened } from './summary.ts';
import { Visibility } from './visibility.ts';

const BETWEEN_LOOKS = 256;

export async function pastSummaryFor(
  deps: ServerDependencies,
  user: User,
  past: Past,
): Promise<Summary> {
  const point = await deps.history.find(past);
  const { revision, ordinal, among } = point;
  const time = commitTime(among.index.time(ordinal));
  const seen = new Visibility(deps, user);
  const maySync = seen.mayRequest('get', '/sync');
  // The message names objects, and those of the past are for readers who may clone.
  const mayClone = seen.mayRequest('get', GIT_PATH);
  const commit = mayClone ? { commit: await commitAt(deps, revision, time) } : {};
  const kinds: object[] = [];
  const degraded: object[] = [];
  let degradedCount = 0;
  for (const kind of deps.kinds.kinds) {
    const objects = await visibleObjects({ deps, seen, kind }, point);
    if (objects === undefined) continue;
    const bad = objects.filter(({ source }) => source.problems.length > 0);
    degradedCount += bad.length;
    degraded.push(...bad.slice(0, MOST_LISTED).map((object) => describe(kind, object)));
    kinds.push({ ...aboutKind(kind), objects: objects.length, degraded: bad.length });
  }
  const document = {
    kind: 'Summary',
    apiVersion: `${deps.kinds.groups[0] ?? ''}/v1`,
    version: deps.version,
    past: { revision, time },
    ...(maySync ? { branch: { state: 'past', head: revision, revision, ...commit } } : {}),
    kinds,
    degraded: { count: degradedCount, items: degraded.slice(0, MOST_LISTED) },
    withheld: maySync ? [] : [{ section: 'branch', path: '/sync', verb: 'get' }],
  };
  const version = createHash('sha256').update(JSON.stringify(document)).digest('hex');
  return { ...document, metadata: { version, time: rfc3339(deps.clock.now()) } };
}

async function commitAt(
  { history }: ServerDependencies,
  revision: string,
  time: string,
): Promise<object> {
  const { author, message } = await history.describeCommit(revision);
  return { revision, time, author, message: shortened(subjectOf(message)) };
}

/** Undefined: the reader may list no object of the kind, or the kind is not in git. */
async function visibleObjects(
  {
    deps,
    seen,
    kind,
  }: { readonly deps: ServerDependencies; readonly seen: Visibility; readonly kind: Kind },
  point: Awaited<ReturnType<ServerDependencies['history']['find']>>,
): Promise<readonly PastObject[] | undefined> {
  const isInGit = kind.storedIn === 'git' || kind.storedIn === 'file';
  if (!isInGit || !kind.verbs.includes('list')) return undefined;
  const namespaces = seen.listedNamespaces(kind);
  if (namespaces !== 'all' && namespaces.length === 0) return undefined;
  const { group, kind: name } = kind;
  const all = await deps.history.listAt(kind, { group, kind: name }, point);
  if (namespaces === 'all') return all;
  const visible = new Set(namespaces);
  const pauses = new Yielding();
  const found: PastObject[] = [];
  for (const [at, object] of all.entries()) {
    if (at % BETWEEN_LOOKS === 0) await pauses.take();
    if (visible.has(object.key.namespace)) found.push(object);
  }
  return found;
}

function describe(kind: Kind, { key, source }: PastObject): object {
  const [problem] = source.problems;
  if (problem === undefined) return namesOf(kind, key);
  const { path, line, col, message } = problem;
  return { ...namesOf(kind, key), path, line, col, message: shortened(message) };
}
