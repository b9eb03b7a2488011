/**
 * The state of the platform in one document, for the start page of the console and `gitplane status`.
 * A section is present if the caller has the right that shows the same facts elsewhere; objects count
 * if the caller may list or get them.
 */
import { createHash } from 'node:crypto';
import { rfc3339, type User, Yielding } from '../../apimachinery/index.ts';
import { apiVersionOf, type Kind } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { HealthCheck } from '../documents/health.ts';
import { GIT_PATH, SUSPENSIONS_PATH } from '../paths.ts';
import { suspensionDocument } from '../routes/suspensions.ts';
import { holdDocument, syncState } from '../routes/sync.ts';
import type { badConditionIndex } from './bad-conditions.ts';
import { Visibility } from './visibility.ts';

/** Items of a list in the document; `count` has the number of all. */
export const MOST_LISTED = 200;
const LONGEST_MESSAGE = 1024;
const BETWEEN_LOOKS = 64;

const SECTIONS = [
  { section: 'branch', path: '/sync' },
  { section: 'held', path: '/sync' },
  { section: 'pushes', path: '/sync' },
  { section: 'problems', path: '/sync' },
  { section: 'replicas', path: '/sync' },
  { section: 'secretStore', path: '/secret-store' },
  { section: 'suspensions', path: SUSPENSIONS_PATH },
] as const;

export interface SummaryContext {
  readonly deps: ServerDependencies;
  readonly conditions: ReturnType<typeof badConditionIndex>;
  /** Start of this process, as far as pushes are recorded. */
  readonly started: number;
}

export interface Summary {
  /** `version`: digest of the document, for a request that waits for a change. */
  readonly metadata: { readonly version: string; readonly time: string };
}

export async function summaryFor(context: SummaryContext, user: User): Promise<Summary> {
  const { deps, started } = context;
  const seen = new Visibility(deps, user);
  const rights = new Map(SECTIONS.map(({ path }) => [path, seen.mayRequest('get', path)]));
  const may = {
    sync: rights.get('/sync'),
    store: rights.get(STORE),
    suspensions: rights.get(SUSPENSIONS_PATH),
  };
  const { report } = deps.sync;
  const document = {
    kind: 'Summary',
    apiVersion: `${deps.kinds.groups[0] ?? ''}/v1`,
    version: deps.version,
    health: healthDocument(deps),
    ...(may.sync ? await branchSections(deps, seen) : {}),
    ...(may.sync ? { pushes: { since: rfc3339(started), items: report.pushes.map(push) } } : {}),
    ...(may.sync ? { problems: await problemsDocument(deps) } : {}),
    ...(may.sync && deps.replicas !== undefined ? { replicas: deps.replicas() } : {}),
    ...(may.store ? { secretStore: storeDocument(deps) } : {}),
    ...(may.suspensions ? { suspensions: deps.suspensions.list().map(suspensionDocument) } : {}),
    ...(await objectSections(context, seen)),
    withheld: SECTIONS.filter(({ path }) => rights.get(path) !== true).map((one) => ({
      ...one,
      verb: 'get',
    })),
  };
  const digest = createHash('sha256').update(JSON.stringify(document)).digest('hex');
  return { ...document, metadata: { version: digest, time: rfc3339(deps.clock.now()) } };
}

const STORE = '/secret-store';

function healthDocument({ health }: ServerDependencies): object {
  const { live, ready, degraded = {} } = health;
  const ask = (level: string, checks: Readonly<Record<string, HealthCheck>>) =>
    Object.entries(checks).map(([name, check]) => {
      const message = check();
      return { name, level, ...(message === undefined ? {} : { message }) };
    });
  const checks = [...ask('live', live), ...ask('ready', ready), ...ask('degraded', degraded)];
  return { ok: checks.every(({ message }) => message === undefined), checks };
}

async function branchSections({ sync }: ServerDependencies, seen: Visibility): Promise<object> {
  const { report } = sync;
  const { revision, hold, committed } = report;
  const applied = sync.lastApplied();
  // The message names objects, and the author is a person: both are for readers who may clone.
  const isShown = revision !== undefined && seen.mayRequest('get', GIT_PATH);
  const commit = isShown ? await report.describeCommit(revision) : undefined;
  const branch = {
    ...syncState(sync),
    head: (await report.head()) ?? null,
    revision: revision ?? null,
    lastAppliedTime: applied === undefined ? null : rfc3339(applied),
    ...(commit === undefined
      ? {}
      : {
          commit: {
            revision,
            author: commit.author,
            message: shortened(commit.message.split('\n', 1)[0] ?? ''),
            ...(committed === undefined ? {} : { time: rfc3339(committed * 1000) }),
          },
        }),
  };
  const mayApprove = hold !== undefined && seen.mayRequest('post', '/sync/approve');
  const held = hold === undefined ? null : { ...holdDocument(hold, MOST_LISTED), mayApprove };
  return { branch, held };
}

function push({
  time,
  lines,
  ...rest
}: ServerDependencies['sync']['report']['pushes'][number]): object {
  return { time: rfc3339(time), ...rest, lines: lines.map(shortened) };
}

/** Problems of files, of objects and of documents that are no objects. */
async function problemsDocument({ sync }: ServerDependencies): Promise<object> {
  const problems = await sync.report.problems();
  const items = problems.slice(0, MOST_LISTED).map(({ message, ...at }) => ({
    ...at,
    message: shortened(message),
  }));
  return { count: problems.length, items };
}

function storeDocument({ secretStore }: ServerDependencies): object {
  const { stores, ...own } = secretStore.report();
  return { ...oneStore(own), stores: stores.map(oneStore) };
}

function oneStore(
  of: Pick<
    ReturnType<ServerDependencies['secretStore']['report']>,
    'name' | 'state' | 'problem' | 'counts' | 'attention' | 'warnings'
  >,
): object {
  const { name, state, problem, counts, attention, warnings } = of;
  const message = problem === undefined ? {} : { message: shortened(problem) };
  return { name, state, ...message, counts, warnings, attentionCount: attention.length };
}

interface KindCount {
  readonly kind: Kind;
  readonly objects: number;
  readonly partial: boolean;
  degraded: number;
}

async function objectSections(
  { deps, conditions }: SummaryContext,
  seen: Visibility,
): Promise<object> {
  const counts = new Map<string, KindCount>();
  for (const kind of deps.kinds.kinds) {
    const count = countOf(deps, seen, kind);
    if (count !== undefined) counts.set(`${kind.group}/${kind.kind}`, count);
  }
  const degraded: object[] = [];
  let degradedCount = 0;
  const pauses = new Yielding();
  let looked = 0;
  for (const { key, problem } of deps.sync.report.degraded()) {
    if (looked++ % BETWEEN_LOOKS === 0) await pauses.take();
    const kind = deps.kinds.kinds.find((one) => one.kind === key.kind && one.group === key.group);
    if (kind === undefined || !seen.maySee(kind, key)) continue;
    degradedCount++;
    const count = counts.get(`${key.group}/${key.kind}`);
    if (count !== undefined) count.degraded++;
    if (degraded.length < MOST_LISTED) {
      const { path, line, col, message } = problem;
      degraded.push({ ...namesOf(kind, key), path, line, col, message: shortened(message) });
    }
  }
  return {
    kinds: [...counts.values()].map(({ kind, objects, degraded: bad, partial }) => ({
      ...aboutKind(kind),
      objects,
      degraded: bad,
      ...(partial ? { partial } : {}),
    })),
    degraded: { count: degradedCount, items: degraded },
    conditions: await conditionsDocument(conditions, seen),
  };
}

/** Undefined: the caller may list no object of the kind. */
function countOf(
  { store }: ServerDependencies,
  seen: Visibility,
  kind: Kind,
): KindCount | undefined {
  if (!kind.verbs.includes('list')) return undefined;
  const { group, kind: name } = kind;
  const namespaces = seen.listedNamespaces(kind);
  if (namespaces === 'all') {
    const objects = store.list({ group, kind: name }).items.length;
    return { kind, objects, partial: false, degraded: 0 };
  }
  if (namespaces.length === 0) return undefined;
  const objects = namespaces.reduce(
    (sum, namespace) => sum + store.list({ group, kind: name, namespace }).items.length,
    0,
  );
  return { kind, objects, partial: true, degraded: 0 };
}

async function conditionsDocument(
  index: SummaryContext['conditions'],
  seen: Visibility,
): Promise<object> {
  const items: object[] = [];
  let count = 0;
  const pauses = new Yielding();
  let looked = 0;
  for (const [kind, entries] of await index.kinds()) {
    for (const { key, facts } of entries.values()) {
      if (looked++ % BETWEEN_LOOKS === 0) await pauses.take();
      if (!seen.maySee(kind, key)) continue;
      count++;
      if (items.length >= MOST_LISTED) continue;
      const conditions = facts.map(({ type, severity, reason, message = '' }) => ({
        ...{ type, severity, reason },
        message: shortened(message),
      }));
      items.push({ ...namesOf(kind, key), conditions });
    }
  }
  return { count, items };
}

export function aboutKind(kind: Kind): object {
  const { group, version, kind: name, plural, scope } = kind;
  const apiVersion = apiVersionOf(kind);
  return { apiVersion, group, version, kind: name, plural, namespaced: scope === 'Namespaced' };
}

/** Kind and names of an object, as an item of an answer. */
export function namesOf(
  kind: Kind,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): object {
  const apiVersion = apiVersionOf(kind);
  const where = namespace === '' ? {} : { namespace };
  return { apiVersion, kind: kind.kind, plural: kind.plural, ...where, name };
}

export function shortened(text: string): string {
  return text.length <= LONGEST_MESSAGE ? text : `${text.slice(0, LONGEST_MESSAGE)}…`;
}
