/**
 * Past states of the platform: objects and lists at any commit of the branch, and the history of an
 * object. They are read from an index of the commits that is built on first use, follows the
 * branch, and is dropped when idle; readers of the present pay nothing for it.
 */
import { LRUCache } from 'lru-cache';
import { keyString, type ObjectKey } from '../apimachinery/index.ts';
import type { CatalogObject, FileReader } from '../catalog/index.ts';
import { Mutex } from '../concurrency/index.ts';
import { objectId, type Repository } from '../git/index.ts';
import type { Kind, KindTable } from '../kinds/index.ts';
import { type Problem, splitStream } from '../manifests/index.ts';
import type { Branch } from '../registry/index.ts';
import type { Collection } from '../state/index.ts';
import { compareKeys } from '../state/index.ts';
import { type Blame, blameOf } from './blame.ts';
import { CommitIndex } from './commit-index.ts';
import { type BranchCommit, commitsFrom } from './commits.ts';
import { type Comparison, changesBetween, describeChanges } from './comparison.ts';
import { type HistoryEntry, historyEntries } from './entries.ts';
import { extendIndex, type IndexContext } from './index-reader.ts';
import { PastObject } from './past-object.ts';
import type { RestrictedContext } from './path-limited-history.ts';
import { foldPaths } from './path-limited-history.ts';
import { findCommit, noCommit, type Past } from './revision.ts';
import { isCurrent, momentAt, readTimeline, type Timeline } from './timeline.ts';
import { filesOf, touchedSince } from './touched-files.ts';

/** Objects of a collection in the catalog of one commit. */
interface LivingList {
  readonly objects: readonly CatalogObject[];
  /** Of that commit; undefined if the index does not have it. */
  readonly ordinal: number | undefined;
}

interface PastList {
  /** In list order. */
  readonly objects: readonly CatalogObject[];
  /** Number of objects that are not shared with the present. */
  readonly folded: number;
}

export interface HistoryOptions {
  readonly repository: Pick<Repository, 'history' | 'readBlobs' | 'listFiles' | 'commitMetadata'>;
  readonly branch: Pick<Branch, 'state' | 'runExclusive'>;
  readonly kinds: KindTable;
  readonly reader: FileReader;
  /** Folder with the manifests; '' is the whole tree. */
  readonly under: string;
  /** The branch is followed: nobody judged the commits that its merges brought. */
  readonly isFollowed?: boolean;
  /** Idle time after which the index is dropped; for tests. */
  readonly idleMs?: number;
}

/** The commits up to `head`. */
interface Indexed {
  readonly index: CommitIndex;
  readonly head: string;
}

/** A commit that was found in the history of the branch. */
export interface PastPoint {
  readonly revision: string;
  readonly ordinal: number;
  /** The index that it was found in. */
  readonly among: Indexed;
  /** Merge on a forge that brought the commit: rights of its author are unknown. */
  readonly broughtBy: string | undefined;
}

/** Object versions in the cache of timelines. */
const TIMELINE_VERSIONS = 20_000;
/** List objects in the cache that are not shared with the present. */
const LIST_OBJECTS = 200_000;
/** Relative cost of a list entry that is shared with the present. */
const SHARED = 1 / 16;
const IDLE_MS = 10 * 60_000;

export class History {
  readonly #options: HistoryOptions;
  #indexed: Indexed | undefined;
  readonly #mutex = new Mutex();
  readonly #timelines = new LRUCache<string, Timeline>({ maxSize: TIMELINE_VERSIONS });
  readonly #lists = new LRUCache<string, readonly CatalogObject[]>({ maxSize: LIST_OBJECTS });
  #idle: NodeJS.Timeout | undefined;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** Throws 400 for an ambiguous id, 404 for a commit outside the branch's history. */
  async find(past: Past): Promise<PastPoint> {
    const among = await this.#follow();
    if (among === undefined) throw noCommit('', 'the branch has no commit yet');
    const { index, head } = among;
    const newest = index.ordinal(head) ?? 0;
    const ordinal = findCommit(index, newest, past);
    const isJudged = this.#options.isFollowed !== true || index.isOnLine(ordinal, newest);
    const broughtBy = isJudged ? undefined : index.id(index.mergeOf(ordinal, newest));
    return { revision: index.id(ordinal), ordinal, among, broughtBy };
  }

  /** The object at the commit; undefined if it does not exist there. */
  async objectAt(kind: Kind, key: ObjectKey, point: PastPoint): Promise<PastObject | undefined> {
    const { among, ordinal } = point;
    const { index } = among;
    const timeline = await this.#timeline(among, key, index.root(ordinal));
    const source = momentAt(timeline, ordinal, (at) => index.firstParent(at));
    return source && new PastObject(kind, source, index.time(ordinal) * 1000);
  }

  /** Every object of a collection at the commit, in list order. */
  async listAt(kind: Kind, collection: Collection, point: PastPoint): Promise<PastObject[]> {
    const list = await this.#list(collection, point);
    const time = point.among.index.time(point.ordinal) * 1000;
    return list.map((source) => new PastObject(kind, source, time));
  }

  /** Changes of the object, newest first; empty if it never existed. */
  async entries(key: ObjectKey): Promise<readonly HistoryEntry[]> {
    const among = await this.#follow();
    if (among === undefined) return [];
    const { index, head } = among;
    const timeline = await this.#timeline(among, key, index.root(index.ordinal(head) ?? 0));
    return historyEntries(index, timeline);
  }

  /** Commit that readers see; undefined: the branch has none. */
  get shown(): string | undefined {
    return this.#options.branch.state.shown;
  }

  /** A page of the commits of the branch, newest first. Undefined: `after` is not among them. */
  async commits(of: {
    readonly limit: number;
    /** Last commit of the page before. */
    readonly after?: string | undefined;
    /** The newest commit to show; absent: the present one. */
    readonly past?: Past | undefined;
    /** Commits that changed a file with one of these objects; absent: every commit. */
    readonly of?: readonly ObjectKey[] | undefined;
  }): Promise<{ commits: readonly BranchCommit[]; hasMore: boolean } | undefined> {
    const among = await this.#follow();
    if (among === undefined) return { commits: [], hasMore: false };
    const { index, head } = among;
    const newest = index.ordinal(head) ?? 0;
    const { limit, after, past, of: keys } = of;
    const last = after === undefined ? undefined : index.ordinal(after);
    if (after !== undefined && last === undefined) return undefined;
    const first = past === undefined ? newest : findCommit(index, newest, past);
    const start = last === undefined ? first : index.firstParent(last);
    const { commits, next } = commitsFrom(index, start, { limit, of: keys });
    return { commits, hasMore: next >= 0 };
  }

  /** Objects that differ between two commits. Throws 400 if too many do. */
  async compare(from: Past, to: Past | undefined): Promise<Comparison | undefined> {
    const among = await this.#follow();
    if (among === undefined) return undefined;
    const { index, head } = among;
    const newest = index.ordinal(head) ?? 0;
    const [a, b] = [findCommit(index, newest, from), to ? findCommit(index, newest, to) : newest];
    const changes = await changesBetween({ ...this.#options, index }, a, b);
    const at = (ordinal: number) => ({ revision: index.id(ordinal), time: index.time(ordinal) });
    return {
      from: at(a),
      to: at(b),
      changes: await describeChanges(this.#options.kinds, changes),
    };
  }

  /**
   * The document of a past object in its file, comments included, and its first line. Where that is not
   * valid, it is not the last good one, which is the object.
   */
  async manifestText(
    { source }: PastObject,
    { revision }: PastPoint,
  ): Promise<{ text: string; line: number }> {
    const isDegraded = source.problems.length > 0;
    const newest = isDegraded ? await this.#blobAt(source.place.path, revision) : undefined;
    const blob = newest ?? source.source.blob;
    const [content = Buffer.alloc(0)] = await this.#options.repository.readBlobs([blob]);
    const text = content.toString('utf8');
    const slice = splitStream(text)[source.place.index];
    if (slice === undefined) return { text, line: 1 };
    const line = text.slice(0, slice.start).split('\n').length;
    return { text: text.slice(slice.start, slice.end), line };
  }

  /** Undefined: the commit has no such file. */
  async #blobAt(path: string, revision: string): Promise<string | undefined> {
    const folder = path.split('/').slice(0, -1).join('/');
    const files = await this.#options.repository.listFiles(revision, folder);
    return files.find((file) => file.path === path)?.id;
  }

  /** Problems of a text in the place of an object's document, as a push of it would report them. */
  async problemsIn(
    { source }: PastObject,
    { text, line }: { text: string; line: number },
  ): Promise<Problem[]> {
    const { reader } = this.#options;
    const content = Buffer.from(text);
    await reader.prepare([content]);
    const { documents } = reader.read(source.place.path, objectId('blob', content), content);
    return documents
      .flatMap(({ problems }) => problems)
      .map((problem) => ({ ...problem, line: problem.line + line - 1 }));
  }

  /** The commit that set each field, from the newest `most` commits of the object; undefined: it is not in git. */
  async blame(key: ObjectKey, most: number): Promise<Blame | undefined> {
    const among = await this.#follow();
    if (among === undefined) return undefined;
    const { index, head } = among;
    const timeline = await this.#timeline(among, key, index.root(index.ordinal(head) ?? 0));
    return await blameOf(index, timeline, most);
  }

  /** True if a manifest at the path is read at present. */
  isRead(path: string): boolean {
    return this.#options.branch.state.view.includes(path);
  }

  /** Author, message and parents of a commit. */
  describeCommit(revision: string): ReturnType<Repository['commitMetadata']> {
    return this.#options.repository.commitMetadata(revision);
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#forget();
  }

  async #list(collection: Collection, point: PastPoint): Promise<readonly CatalogObject[]> {
    const { group, kind, namespace } = collection;
    const id = [point.revision, group, kind, namespace ?? ''].join('/');
    const known = this.#lists.get(id);
    if (known !== undefined) return known;
    const { index } = point.among;
    const living = await this.#living(collection, index);
    const context = { ...this.#options, index };
    const { objects, folded } = await listAt(context, { collection, living, last: point.ordinal });
    this.#lists.set(id, objects, { size: Math.ceil(folded + objects.length * SHARED) + 1 });
    return objects;
  }

  /** The present list with its commit: most of an old list is the same. */
  async #living(collection: Collection, index: CommitIndex): Promise<LivingList> {
    const { revision, objects } = await this.#options.branch.runExclusive(async (state) => {
      await state.recover();
      const all = [...state.catalog.objects()];
      const own = all.filter(({ key }) => isInCollection(collection, key));
      return { revision: state.revision, objects: own };
    });
    await this.#follow();
    return { objects, ordinal: revision === undefined ? undefined : index.ordinal(revision) };
  }

  async #timeline(among: Indexed, key: ObjectKey, root: number): Promise<Timeline> {
    const { index, head } = among;
    const id = `${index.id(root)}/${keyString(key)}`;
    const known = this.#timelines.get(id);
    const context = { ...this.#options, index };
    if (known !== undefined && isCurrent(known, context, key)) return known;
    const range = { last: index.ordinal(head) ?? 0, root };
    const timeline = await readTimeline(context, key, range);
    this.#timelines.set(id, timeline, { size: timeline.moments.size + 1 });
    return timeline;
  }

  /** Advances the index to the served revision. */
  async #follow(): Promise<Indexed | undefined> {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#forget(), this.#options.idleMs ?? IDLE_MS).unref();
    return await this.#mutex.run(() => this.#followNow());
  }

  async #followNow(): Promise<Indexed | undefined> {
    const { shown } = this.#options.branch.state;
    const indexed = this.#indexed;
    if (shown === undefined || indexed?.head === shown) return indexed;
    this.#indexed = undefined;
    const next = (await this.#extended(indexed, shown)) ?? (await this.#made(shown));
    this.#indexed = next;
    return next;
  }

  /** Undefined if the branch does not descend from the indexed head. */
  async #extended(indexed: Indexed | undefined, head: string): Promise<Indexed | undefined> {
    // After a reset to an earlier commit, later commits must not be shown.
    if (indexed === undefined || indexed.index.ordinal(head) !== undefined) return undefined;
    const { index, head: from } = indexed;
    return (await extendIndex(this.#context(), index, { from, to: head }))
      ? { index, head }
      : undefined;
  }

  async #made(head: string): Promise<Indexed> {
    this.#forget();
    const index = new CommitIndex();
    await extendIndex(this.#context(), index, { from: undefined, to: head });
    return { index, head };
  }

  #context(): IndexContext {
    const { repository, reader, under, branch } = this.#options;
    return { repository, reader, under, known: () => branch.state.catalog };
  }

  #forget(): void {
    this.#indexed = undefined;
    this.#timelines.clear();
    this.#lists.clear();
  }
}

/**
 * Every object of a collection at a past commit. Objects that no later commit touched come from the
 * present; only the rest is folded from history, so that the cost follows the number of changes
 * since.
 */
async function listAt(
  context: RestrictedContext,
  wish: { readonly collection: Collection; readonly living: LivingList; readonly last: number },
): Promise<PastList> {
  const { collection, living, last } = wish;
  const { index } = context;
  const touched = touchedSince(context, living.ordinal, last);
  const keys = new Map<string, ObjectKey>();
  for (const { keys: named } of touched ?? index.paths()) {
    for (const key of named) if (isInCollection(collection, key)) keys.set(keyString(key), key);
  }
  const objects =
    touched === undefined ? [] : living.objects.filter(({ key }) => !keys.has(keyString(key)));
  const untouched = objects.length;
  if (keys.size > 0) {
    const root = index.root(last);
    const { catalog } = await foldPaths(context, { files: filesOf(context, keys), last, root });
    for (const key of keys.values()) {
      const object = catalog.object(key);
      if (object !== undefined) objects.push(object);
    }
  }
  objects.sort((a, b) => compareKeys(a.key, b.key));
  return { objects, folded: objects.length - untouched };
}

function isInCollection({ group, kind, namespace }: Collection, key: ObjectKey): boolean {
  if (key.kind !== kind || key.group !== group) return false;
  return namespace === undefined || key.namespace === namespace;
}
