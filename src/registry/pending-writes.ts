/**
 * Writes that wait for a review. They are decided on the platform as it will be after all pending
 * changes are merged, become commits of the branch for writes, and are answered with the future
 * object. Reads do not show them.
 * The future platform (`Shadow`) is a branch and a state in memory, on the tip of that branch. It
 * is opened again when the followed branch moved.
 */
import {
  type Authorizer,
  conflict,
  forbiddenError,
  isRecord,
  type JsonObject,
  jsonEqual,
  type KubeObject,
  StatusError,
  unavailable,
} from '../apimachinery/index.ts';
import { type PathChange, RemoteError } from '../git/index.ts';
import {
  isEncryptedKind,
  type Kind,
  type KindTable,
  ownPart,
  sourcesOfSecrets,
} from '../kinds/index.ts';
import type { Store, StoredObject } from '../state/index.ts';
import type { Branch } from './branch.ts';
import { encryptedFields } from './projection/encrypted-fields.ts';
import type { ObjectRegistry, Registry } from './registry.ts';
import { mayReadSecrets } from './secret-readers.ts';
import type { ApplyRequest } from './writes/apply.ts';
import type { CreateRequest } from './writes/create.ts';
import type { DeleteRequest } from './writes/delete.ts';
import { desiredPart } from './writes/patch-manifest.ts';
import { isStateObject } from './writes/state-objects.ts';
import type { UpdateRequest } from './writes/update.ts';
import {
  type DeleteResult,
  keyOf,
  type Target,
  type WriteOptions,
  type WriteResult,
} from './writes/write-context.ts';

/** The platform with all pending changes merged. */
export interface Shadow {
  readonly registry: Registry;
  readonly store: Store;
  /** Tip of the branch for writes, and what its files say. */
  readonly state: Pick<Branch['state'], 'revision' | 'catalog' | 'view'>;
  /** Files of the branch that differ from the followed branch. */
  readonly files: readonly PathChange[];
  close(): Promise<void>;
}

export interface PendingWritesOptions {
  /** Present objects, as readers see them. */
  readonly served: { readonly registry: Registry; readonly store: Store; readonly branch: Branch };
  readonly kinds: KindTable;
  /** The branch for writes, in git. */
  readonly pending: {
    readonly name: string;
    readonly isStale: boolean;
    /** Asks the remote whether another process moved the branch, which makes this one stale. */
    checkRemote(): Promise<void>;
  };
  /** Absent: every user may read every object. */
  readonly authorizer?: Authorizer | undefined;
  /**
   * Opens the branch on top of a revision of the followed branch. `arrived`: those of the pushes that
   * the remote had, in their order, each with the files that were pending before it and its changes.
   */
  open(
    base: string,
    pushes: readonly PendingPush[],
  ): Promise<{ shadow: Shadow; conflicts: boolean; arrived: readonly ArrivedPush[] }>;
  /** Called when no write is in progress any more. */
  onClose(): Promise<void>;
}

/** Commits of writes, from the parent of the first one to the last one. */
export type PendingPush = {
  /** Of the followed branch: an ancestor of the parent. */
  readonly base: string;
  readonly parent: string;
  readonly tip: string;
};

export interface ArrivedPush {
  readonly before: readonly PathChange[];
  readonly changes: readonly PathChange[];
}

interface Opened {
  readonly base: string;
  readonly shadow: Shadow;
  readonly conflicts: boolean;
  /** Paths of files that others than the platform wrote. Writes do not make them its own. */
  readonly foreign: ReadonlySet<string>;
}

/** The object that a write is about. A create whose name the server chooses has none before. */
interface Asked {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name?: string;
  readonly options: WriteOptions;
}

/** Documents of the state store: the blob of each pending file that the platform wrote, by path. */
const OWN_FILES = 'pendingFiles/';
/** Document with the pushes whose files may not be in the documents above yet, oldest first. */
const PUSHES = 'pendingPushes';

export class PendingWrites implements ObjectRegistry {
  readonly #options: PendingWritesOptions;
  #opened: Opened | undefined;
  #syncing: Promise<void> | undefined;
  #inFlight = 0;
  #idle: (() => void) | undefined;
  #closed = false;
  #series = 0;
  #review: () => Promise<string | undefined> = () => Promise.resolve(undefined);

  constructor(options: PendingWritesOptions) {
    this.#options = options;
  }

  /** Tip of the branch for writes; undefined: it is not open. */
  get tip(): string | undefined {
    return this.#opened?.shadow.state.revision;
  }

  /** Another number each time that everything pending was merged or discarded. */
  get series(): number {
    return this.#series;
  }

  /** Sets the function that finds the address of the review, which each write waits for. */
  reviewedAt(find: () => Promise<string | undefined>): void {
    this.#review = find;
  }

  /** Saves the commits of a push before they are pushed: after a crash they tell which files are own. */
  async beforePush({ parent, tip }: { parent: string | undefined; tip: string }): Promise<void> {
    const opened = this.#opened;
    // Commits that a rebase copies may be of others, and a conflict leaves no base below them.
    if (opened === undefined || opened.conflicts || parent === undefined) return;
    const push = { base: opened.base, parent, tip };
    await this.#save({ [PUSHES]: { pushes: [...this.#pushes(), push] } });
  }

  get(target: Target): StoredObject {
    return this.#options.served.registry.get(target);
  }

  async create(request: CreateRequest): Promise<WriteResult> {
    const { served } = this.#options;
    if (request.kind.storedIn === 'nowhere') return await served.registry.create(request);
    return await this.#write(request, ({ registry }) => registry.create(request));
  }

  async update(request: UpdateRequest): Promise<WriteResult> {
    if (this.#isInState(request)) return await this.#options.served.registry.update(request);
    return await this.#write(request, (shadow) => {
      const change = (current: KubeObject): unknown => this.#change(request, current);
      return shadow.registry.update({ ...request, change });
    });
  }

  async apply(request: ApplyRequest): Promise<WriteResult & { created: boolean }> {
    if (this.#isInState(request)) return await this.#options.served.registry.apply(request);
    return await this.#write(request, ({ registry }) => registry.apply(request));
  }

  async delete(request: DeleteRequest): Promise<DeleteResult> {
    if (this.#isInState(request)) return await this.#options.served.registry.delete(request);
    return await this.#write(request, (shadow) => {
      const current = shadow.store.get(keyOf(request))?.object;
      const served = current && this.#sameAsServed(request, current);
      const asked = request.delete.resourceVersion;
      const seen = asked !== undefined && asked === served?.metadata.resourceVersion;
      const resourceVersion = current?.metadata.resourceVersion;
      const precondition = seen && resourceVersion !== undefined ? { resourceVersion } : {};
      return shadow.registry.delete({ ...request, delete: { ...request.delete, ...precondition } });
    });
  }

  /** Follows moves of both branches. */
  async sync(): Promise<void> {
    while (!this.#closed && (this.#syncing !== undefined || this.#isStale())) {
      this.#syncing ??= this.#sync().finally(() => {
        this.#syncing = undefined;
      });
      await this.#syncing;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#syncing?.catch(() => undefined);
    await this.#opened?.shadow.close();
    await this.#options.onClose();
  }

  /** The answer names the review, where one is known. */
  async #write<T extends WriteResult>(
    asked: Asked,
    work: (shadow: Shadow) => Promise<T>,
  ): Promise<T> {
    const made = await this.#decide((opened) => this.#ofOwnFiles(opened, asked, work));
    // Data of a source may come from a file that others wrote.
    const result = { ...made, object: ownPart(asked.kind, made.object), stored: undefined };
    if (result.commit === undefined) return result;
    const url = await this.#review();
    return url === undefined
      ? result
      : { ...result, warnings: [...result.warnings, `review: ${url}`] };
  }

  /** Writes, and decides again if another process moved the branch. */
  async #decide<T extends WriteResult>(work: (opened: Opened) => Promise<T>): Promise<T> {
    this.#options.served.branch.assertTakesWrites();
    for (let races = 0; races < MAX_RACES; races++) {
      try {
        const result = await this.#attempt(work);
        // A write that made no commit may depend on a pending change that is gone.
        if (result.commit !== undefined || !(await this.#hasMoved())) return result;
      } catch (error) {
        const isMoved = error instanceof RemoteError && error.problem === 'moved';
        if (!isMoved && !(isRefusal(error) && (await this.#hasMoved()))) throw error;
      }
    }
    return await this.#attempt(work);
  }

  /** True if the remote branch moved. Throws if the remote cannot be reached. */
  async #hasMoved(): Promise<boolean> {
    const { pending } = this.#options;
    await pending.checkRemote().catch(() => undefined);
    return pending.isStale;
  }

  async #attempt<T extends WriteResult>(work: (opened: Opened) => Promise<T>): Promise<T> {
    await this.sync();
    const opened = this.#opened;
    if (opened === undefined || this.#closed) throw unavailable('The server is shutting down');
    this.#inFlight++;
    try {
      const result = await work(opened);
      if (result.commit === undefined) return result;
      return { ...result, warnings: [...result.warnings, this.#notice(opened)] };
    } finally {
      this.#inFlight--;
      if (this.#inFlight === 0) this.#idle?.();
    }
  }

  /**
   * A person who may push to the branch at the remote, which need not be protected, decides about no
   * recipient of a write, and reads nothing by it: see decision 149.
   */
  async #ofOwnFiles<T extends WriteResult>(
    opened: Opened,
    asked: Asked,
    work: (shadow: Shadow) => Promise<T>,
  ): Promise<T> {
    const { shadow } = opened;
    this.#assertSameRules(shadow, asked);
    const before = pathOf(shadow, asked);
    if (before !== undefined && opened.foreign.has(before)) this.#assertMayCopy(shadow, asked);
    const present = shadow.store.get(keyOf({ ...asked, name: asked.name ?? '' }));
    const made = await work(shadow);
    const encrypted = [present, made.stored].flatMap((version) => encryptedFields(version) ?? []);
    const result = { ...made, encrypted };
    const path = before ?? pathOf(shadow, asked, result.object.metadata.name);
    if (result.commit === undefined || path === undefined) return result;
    const { catalog, revision } = shadow.state;
    const own = opened.foreign.has(path) ? {} : { [path]: catalog.file(path)?.blob };
    const pushes = this.#pushes();
    const left = pushes.slice(pushes.findIndex(({ tip }) => tip === revision) + 1);
    await this.#save({
      ...documentsOf(own),
      [PUSHES]: left.length > 0 ? { pushes: left } : undefined,
    });
    return result;
  }

  #pushes(): PendingPush[] {
    const { pushes = [] } = this.#options.served.store.document(PUSHES) ?? {};
    return pushes as unknown as PendingPush[];
  }

  /** Nobody else writes to the state. */
  async #save(documents: Readonly<Record<string, JsonObject | undefined>>): Promise<void> {
    const { store } = this.#options.served;
    store.apply([], documents);
    await store.flush();
  }

  /** Compares the branch with the files that writes left, and forgets those that are gone. */
  async #foreignFiles({ files }: Shadow, arrived: readonly ArrivedPush[]): Promise<Set<string>> {
    const { store } = this.#options.served;
    const saved = new Map<string, string | undefined>();
    for (const [document, { blob }] of store.documents(OWN_FILES)) {
      saved.set(document.slice(OWN_FILES.length), String(blob));
    }
    const own = new Map(saved);
    for (const { before, changes } of arrived) {
      const blobs = new Map(before.map(({ path, newId }) => [path, newId]));
      for (const { path, newId } of changes) {
        // A file that was foreign before the write, or of a later write, stays so.
        if (own.get(path) === blobs.get(path)) own.set(path, newId);
      }
    }
    const foreign = new Map(files.flatMap(({ path, newId }) => (newId ? [[path, newId]] : [])));
    for (const [path, blob] of own) {
      if (blob === undefined || foreign.get(path) !== blob) own.set(path, undefined);
      else foreign.delete(path);
    }
    const changed = [...own].filter(([path, blob]) => saved.get(path) !== blob);
    if (changed.length > 0 || this.#pushes().length > 0) {
      await this.#save({ ...documentsOf(Object.fromEntries(changed)), [PUSHES]: undefined });
    }
    return new Set(foreign.keys());
  }

  #assertSameRules({ state }: Shadow, { kind, name = '' }: Asked): void {
    const { served, pending } = this.#options;
    if (state.view.hasRulesOf(served.branch.state.view)) return;
    const why = `.sops.yaml or .gitplaneignore of the branch ${pending.name} is not that of the followed branch; merge the branch or take the change back there`;
    throw conflict(kind, name, why);
  }

  /** Values in the file may have been encrypted for another object, which the answer would show. */
  #assertMayCopy({ store }: Shadow, { kind, namespace, name = '', options }: Asked): void {
    const { authorizer, kinds, pending } = this.#options;
    const stored = store.get(keyOf({ kind, namespace, name }));
    const isBeside = encryptedFields(stored) !== undefined;
    if (!isEncryptedKind(kind) && !isBeside) return;
    const sources = sourcesOfSecrets(kinds, { kind, manifest: stored?.object, isBeside });
    const of = { namespace: '', user: options.user };
    const unread = authorizer && sources.find((one) => !mayReadSecrets(authorizer, one, of));
    if (unread === undefined) return;
    const { plural: resource } = unread;
    const user = JSON.stringify(options.user.name);
    const message = `its file on the branch ${pending.name} was written by others than the platform, and User ${user} cannot get every one of the ${resource}; merge the branch first`;
    throw forbiddenError(`${kind.kind} ${JSON.stringify(name)}: ${message}`, kind, name);
  }

  #notice({ conflicts }: Opened): string {
    const { name } = this.#options.pending;
    const notice = `pending on branch ${name} until it is merged; reads show what is merged`;
    return conflicts ? `${notice}; the branch conflicts with the followed one` : notice;
  }

  #isStale(): boolean {
    const { served, pending } = this.#options;
    return pending.isStale || this.#opened?.base !== served.branch.state.revision;
  }

  async #sync(): Promise<void> {
    const { served, open } = this.#options;
    if (this.#inFlight > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    const base = served.branch.state.revision;
    if (base === undefined) throw unavailable('Nothing was fetched yet');
    await this.#opened?.shadow.close();
    this.#opened = undefined;
    const { shadow, conflicts, arrived } = await open(base, this.#pushes());
    this.#opened = { base, shadow, conflicts, foreign: await this.#foreignFiles(shadow, arrived) };
    if (this.tip === base) this.#series++;
  }

  /** While nothing is pending for an object, its served resourceVersion is valid here. */
  #change(request: UpdateRequest, current: KubeObject): unknown {
    const served = this.#sameAsServed(request, current);
    if (served === undefined) return request.change(current);
    const metadata = { ...current.metadata };
    const { resourceVersion } = served.metadata;
    if (resourceVersion === undefined) delete metadata.resourceVersion;
    else metadata.resourceVersion = resourceVersion;
    const wanted = request.change({ ...current, metadata });
    if (!isRecord(wanted) || !isRecord(wanted['metadata'])) return wanted;
    if (wanted['metadata']['resourceVersion'] !== resourceVersion) return wanted;
    const own = { ...wanted['metadata'], resourceVersion: current.metadata.resourceVersion };
    return { ...wanted, metadata: own };
  }

  #sameAsServed(target: Target, current: KubeObject): KubeObject | undefined {
    const served = this.#options.served.store.get(keyOf(target))?.object;
    if (served === undefined) return undefined;
    return jsonEqual(desiredPart(served), desiredPart(current)) ? served : undefined;
  }

  /** True if only the state knows the object: its manifest is gone, or it never had one. */
  #isInState(target: Target): boolean {
    const served = this.#options.served.store.get(keyOf(target));
    return served !== undefined && (served.terminating || isStateObject(served));
  }
}

const MAX_RACES = 5;

function documentsOf(
  blobs: Readonly<Record<string, string | undefined>>,
): Record<string, JsonObject | undefined> {
  const documents = Object.entries(blobs).map(([path, blob]) => [
    OWN_FILES + path,
    blob === undefined ? undefined : { blob },
  ]);
  return Object.fromEntries(documents);
}

/** True if a write was refused for the content of the branch, which may have been mended. */
function isRefusal(error: unknown): boolean {
  return error instanceof StatusError && [404, 409, 422, 503].includes(error.code);
}

/** Path of the file with an object; undefined: there is none. */
function pathOf({ state }: Shadow, { kind, namespace, name }: Asked, made = name) {
  if (made === undefined) return undefined;
  return state.catalog.object(keyOf({ kind, namespace, name: made }))?.place.path;
}
