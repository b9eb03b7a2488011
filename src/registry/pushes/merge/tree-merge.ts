/**
 * Three-way merge of trees: what a push changed since its base, on top of the tip of the branch. Files
 * that one side changed are taken from it. Manifests that both changed are merged object by object,
 * other files as git merges them. The result depends on the three trees alone.
 */
import { keyString, type ObjectKey, Yielding } from '../../../apimachinery/index.ts';
import {
  type Catalog,
  type CatalogObject,
  Footprint,
  type SeenPath,
  type TreeView,
} from '../../../catalog/index.ts';
import { mapLimit } from '../../../concurrency/index.ts';
import type { FileChange, FileTake, PathChange, Repository } from '../../../git/index.ts';
import { decodeUtf8, isControlFile } from '../../../manifests/index.ts';
import { BranchChanges } from './branch-changes.ts';
import type { Conflict } from './conflict.ts';
import { type FileMerger, MergeLimitError } from './file-merger.ts';
import type { FileTexts } from './object-merge.ts';
import type { PushedFiles } from './pushed-files.ts';
import { beforeOf, isUntouched, originsOf, type Touched } from './touched-manifest.ts';

export interface MergedCommits {
  readonly base: string;
  readonly tip: string;
  readonly pushed: string;
}

export interface TreeMergeContext {
  readonly repository: Pick<
    Repository,
    'diff' | 'diffAt' | 'readBlobs' | 'listFiles' | 'context' | 'isAncestor'
  >;
  readonly files: PushedFiles;
  readonly merger: Pick<FileMerger, 'objects' | 'lines'>;
  readonly under: string;
  /** The catalog at the tip. */
  readonly catalog: Catalog;
  /** The catalog at the pushed commit, if the base is not recent. */
  readonly replayed: Catalog | undefined;
  readonly view: TreeView;
}

export interface TreeMerge {
  /** Changes of the tip. */
  readonly changes: readonly (FileChange | FileTake)[];
  readonly conflicts: readonly Conflict[];
  /** Objects whose manifests the push touched. */
  readonly keys: readonly ObjectKey[];
  /** Everything on the branch that the merge depends on. */
  readonly footprint: Footprint;
}

const REGULAR = /^100/;
/** Larger files are not merged: YAML that the fast reader leaves to the library takes a second per MiB. */
const MAX_MERGED_BYTES = 1024 * 1024;
/** Together these bound the time of one merge. */
const MAX_MERGED_FILES = 500;
const MAX_BYTES_IN_ALL = 8 * 1024 * 1024;
/** Incarnations whose age git is asked for. */
const MAX_DOUBTFUL = 128;

export async function mergeTrees(
  context: TreeMergeContext,
  { base, tip, pushed }: MergedCommits,
): Promise<TreeMerge> {
  const changes = await context.repository.diff(base, pushed);
  const theirs = new Map(changes.map((change) => [change.path, change]));
  const ours = new BranchChanges(context.repository, { base, tip });
  await ours.read([...theirs.keys()]);
  return await new Merge(context, ours, theirs).run(base);
}

class Merge {
  readonly #context: TreeMergeContext;
  readonly #ours: BranchChanges;
  readonly #theirs: ReadonlyMap<string, PathChange>;
  readonly #changes: (FileChange | FileTake)[] = [];
  readonly #conflicts: Conflict[] = [];
  readonly #pauses = new Yielding();
  #mergedFiles = 0;
  #mergedBytes = 0;

  constructor(
    context: TreeMergeContext,
    ours: BranchChanges,
    theirs: ReadonlyMap<string, PathChange>,
  ) {
    this.#context = context;
    this.#ours = ours;
    this.#theirs = theirs;
  }

  async run(base: string): Promise<TreeMerge> {
    const touched = await this.#touchedManifests();
    const keys = keysOf(touched);
    const claims = [...keys.values()].flatMap((key) => this.#context.catalog.claims(key));
    await this.#ours.read(claims.map(({ path }) => path));
    const group = this.#group(touched);
    if (!(await this.#refuseOtherLives(touched, { base, group }))) return this.#tooMuch(keys);
    for (const their of this.#theirs.values()) {
      await this.#pauses.take();
      if (!group.has(their.path)) await this.#mergeFile(their);
    }
    await this.#mergeGroup([...group].sort());
    return this.#isTooMuch ? this.#tooMuch(keys) : this.#result(keys, group);
  }

  get #isTooMuch(): boolean {
    return this.#mergedFiles > MAX_MERGED_FILES || this.#mergedBytes > MAX_BYTES_IN_ALL;
  }

  #tooMuch(keys: ReadonlyMap<string, ObjectKey>): TreeMerge {
    const [path = ''] = this.#theirs.keys();
    const why = 'both sides changed more than is merged here; fetch, and merge it in a clone';
    this.#changes.length = 0;
    this.#conflicts.splice(0, Number.POSITIVE_INFINITY, { path, why });
    return this.#result(keys, []);
  }

  #result(keys: ReadonlyMap<string, ObjectKey>, group: Iterable<string>): TreeMerge {
    const footprint = new Footprint();
    for (const path of [...this.#theirs.keys(), ...group]) footprint.addPath(path);
    for (const key of keys.values()) footprint.addKey(key);
    const merged = { changes: this.#changes, conflicts: this.#conflicts };
    return { ...merged, keys: [...keys.values()], footprint };
  }

  /** True if the file may hold manifests on both sides. */
  #isManifest(path: string): boolean {
    const { view } = this.#context;
    return (
      view.includes(path) && [this.#ours, this.#theirs].every((side) => isFile(side.get(path)))
    );
  }

  async #touchedManifests(): Promise<Touched[]> {
    const { catalog, files, repository } = this.#context;
    const theirs = [...this.#theirs.values()].filter(({ path }) => this.#isManifest(path));
    const pushed = await files.read(repository, theirs.map(afterOf));
    const bothChanged = theirs.filter(({ path }) => this.#ours.has(path));
    const bases = await files.read(repository, bothChanged.map(beforeOf));
    return theirs.map(({ path }) => ({
      path,
      base: this.#ours.has(path) ? bases.get(path) : catalog.file(path),
      pushed: pushed.get(path),
    }));
  }

  /**
   * Manifests to merge object by object: those that both sides changed, and those that share an object
   * which the sides have in different files, or which the branch removed and the push moved.
   */
  #group(touched: readonly Touched[]): Set<string> {
    const group = new Set<string>();
    const origins = originsOf(touched);
    for (const { path, base, pushed } of touched) {
      const [our, their] = [this.#ours.get(path), this.#theirs.get(path)];
      if (our !== undefined && !isSameChange(our, their)) group.add(path);
      const keys = [...keysOf([{ base, pushed }]).values()];
      for (const elsewhere of this.#placesElsewhere(path, { keys, origins })) {
        group.add(path).add(elsewhere);
      }
    }
    return group;
  }

  /** Files that the branch has moved the objects to, made them in, or removed them from. */
  #placesElsewhere(
    path: string,
    { keys, origins }: { keys: readonly ObjectKey[]; origins: ReadonlyMap<string, string> },
  ): string[] {
    const places = keys.flatMap((key) => [
      origins.get(keyString(key)) ?? path,
      ...this.#context.catalog.claims(key).map((place) => place.path),
    ]);
    return places.filter((place) => place !== path && this.#ours.has(place));
  }

  /**
   * Conflicts where the branch made an object anew since the base, which is not the one that the push
   * changed, or removed one that the push would bring back. False: there are too many to tell.
   */
  async #refuseOtherLives(
    touched: readonly Touched[],
    { base, group }: { readonly base: string; readonly group: ReadonlySet<string> },
  ): Promise<boolean> {
    const { catalog, repository, replayed } = this.#context;
    const past = replayed ?? (await catalog.viewOf(base));
    const doubtful = await this.#madeAnew(touched, past);
    const gone = new Map<string, CatalogObject[]>();
    // Objects of a group are compared with their base when it is merged.
    for (const { pushed } of touched.filter(({ path }) => !group.has(path))) {
      for (const { key } of pushed?.documents ?? []) {
        const was = key && catalog.object(key) === undefined ? past?.object(key) : undefined;
        if (was !== undefined) addTo(gone, was);
      }
    }
    if (doubtful.size + gone.size > MAX_DOUBTFUL) return false;
    const refuse = (objects: readonly CatalogObject[], why: string): void => {
      for (const { key, place } of objects) this.#conflicts.push({ path: place.path, key, why });
    };
    await mapLimit([...doubtful], ASKED_AT_ONCE, async ([introducedBy, objects]) => {
      if (await repository.isAncestor(introducedBy, base)) return;
      refuse(objects, 'the branch has created it again, and this push changes the former one');
    });
    await mapLimit([...gone], ASKED_AT_ONCE, async ([introducedBy, objects]) => {
      if (!(await repository.isAncestor(introducedBy, base))) return;
      refuse(objects, 'the branch has removed it, and this push brings it back');
    });
    return true;
  }

  /** Objects that the push touched, and that the branch may have made anew, by incarnation. */
  async #madeAnew(
    touched: readonly Touched[],
    past: Catalog | undefined,
  ): Promise<Map<string, CatalogObject[]>> {
    const { catalog } = this.#context;
    const doubtful = new Map<string, CatalogObject[]>();
    for (const { base, pushed } of touched) {
      await this.#pauses.take();
      for (const document of base?.documents ?? []) {
        const { key } = document;
        const now = key && catalog.object(key);
        if (key === undefined || now === undefined) continue;
        const isSameLife = past?.object(key)?.identity.introducedBy === now.identity.introducedBy;
        if (!isSameLife && !isUntouched(document, pushed)) addTo(doubtful, now);
      }
    }
    return doubtful;
  }

  async #mergeFile(their: PathChange): Promise<void> {
    const { path } = their;
    const our = this.#ours.get(path);
    if (our === undefined) this.#take(their);
    else if (!isSameChange(our, their)) await this.#mergeText(our, their);
  }

  #take({ path, newId, mode }: PathChange): void {
    if (newId === undefined) this.#changes.push({ path, content: null });
    else this.#changes.push({ path, blob: newId, mode });
  }

  async #mergeText(our: PathChange, their: PathChange): Promise<void> {
    const { path } = their;
    const { under, view } = this.#context;
    const refuse = (why: string): void => void this.#conflicts.push({ path, why });
    if (isControlFile(under, path) || view.isRuledBy(path)) {
      return refuse('the branch has changed it, and control files are not merged');
    }
    if (our.newId === undefined)
      return refuse('the branch has removed it, and this push changes it');
    if (their.newId === undefined) {
      return refuse('the branch has changed it, and this push removes it');
    }
    if (!REGULAR.test(our.mode) || our.mode !== their.mode) {
      return refuse('both sides changed its mode, or it is a link');
    }
    if (their.oldId === undefined) return refuse('both sides added it');
    const blobs = [their.oldId, our.newId, their.newId];
    const [base = '', tip = '', pushed = ''] = await this.#texts(blobs);
    const isText = [base, tip, pushed].every((text) => text !== BINARY);
    if (!isText) return refuse('both sides changed it, and it is binary or large');
    const { merger } = this.#context;
    const merged = await this.#limited(path, merger.lines({ base, tip, pushed }));
    if (merged === undefined) return;
    const { text } = merged;
    if (text === undefined) refuse('both sides changed the same lines');
    else if (text !== tip) this.#changes.push({ path, content: Buffer.from(text) });
  }

  /** Texts of blobs; `BINARY` for those that are not merged by lines. */
  async #texts(blobs: readonly string[]): Promise<string[]> {
    await this.#pauses.take();
    this.#mergedFiles += 1;
    if (this.#isTooMuch) return blobs.map(() => BINARY);
    const contents = await this.#context.repository.readBlobs(blobs);
    for (const { length } of contents) this.#mergedBytes += length;
    return contents.map((content) => {
      if (content.length > MAX_MERGED_BYTES || content.includes(0)) return BINARY;
      const decoded = decodeUtf8(content);
      return 'problem' in decoded ? BINARY : decoded.text;
    });
  }

  async #mergeGroup(paths: readonly string[]): Promise<void> {
    const group = new Map<string, FileTexts>();
    for (const path of paths) {
      const texts = await this.#textsOf(path);
      if (texts === undefined) {
        this.#conflicts.push({ path, why: 'both sides changed it, and it cannot be read' });
      } else group.set(path, texts);
    }
    const [first = ''] = paths;
    if (this.#isTooMuch || this.#conflicts.length > 0 || group.size === 0) return;
    const merged = await this.#limited(first, this.#context.merger.objects(group));
    if (merged === undefined) return;
    for (const conflict of merged.conflicts) this.#conflicts.push(conflict);
    for (const [path, text] of merged.files) {
      if (text === (group.get(path)?.tip ?? null)) continue;
      const content = text === null ? null : Buffer.from(text);
      this.#changes.push({ path, content });
    }
  }

  /** Undefined, with a conflict: the merge met a limit. */
  async #limited<T>(path: string, merging: Promise<T>): Promise<T | undefined> {
    try {
      return await merging;
    } catch (error) {
      if (!(error instanceof MergeLimitError)) throw error;
      const why = 'both sides changed it, and the merge takes too much memory or time';
      this.#conflicts.push({ path, why: `${why}; fetch, and merge it in a clone` });
      return undefined;
    }
  }

  /** Undefined: a version is not a text. */
  async #textsOf(path: string): Promise<FileTexts | undefined> {
    const { catalog } = this.#context;
    const [our, their] = [this.#ours.get(path), this.#theirs.get(path)];
    const base =
      our?.oldId ?? their?.oldId ?? (our || their ? undefined : catalog.file(path)?.blob);
    const tip = our === undefined ? base : our.newId;
    const pushed = their === undefined ? base : their.newId;
    const ids = [base, tip, pushed].filter((id) => id !== undefined);
    const texts = await this.#texts(ids);
    if (texts.includes(BINARY)) return undefined;
    const byId = new Map(ids.map((id, i) => [id, texts[i]]));
    const textOf = (id: string | undefined): string | undefined => id && byId.get(id);
    return { base: textOf(base), tip: textOf(tip), pushed: textOf(pushed) };
  }
}

/** Objects in the files, before and after. */
function keysOf(touched: readonly Pick<Touched, 'base' | 'pushed'>[]): Map<string, ObjectKey> {
  const documents = touched.flatMap(({ base, pushed }) => [
    ...(base?.documents ?? []),
    ...(pushed?.documents ?? []),
  ]);
  return new Map(documents.flatMap(({ key }) => (key ? [[keyString(key), key]] : [])));
}

/** Adds an object to those of its incarnation. */
function addTo(incarnations: Map<string, CatalogObject[]>, object: CatalogObject): void {
  const { introducedBy } = object.identity;
  incarnations.set(introducedBy, [...(incarnations.get(introducedBy) ?? []), object]);
}

const BINARY = '\0';
/** Processes of git at a time. */
const ASKED_AT_ONCE = 4;

function isFile(change: PathChange | undefined): boolean {
  return change?.newId === undefined || REGULAR.test(change.mode);
}

function afterOf({ path, newId: id, mode }: PathChange): SeenPath {
  return { path, id, mode };
}

function isSameChange(our: PathChange, their: PathChange | undefined): boolean {
  return our.newId === their?.newId && our.mode === their?.mode;
}
