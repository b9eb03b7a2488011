/** One listing of a pull: creates a linked object for each secret that has none. */
import {
  type Clock,
  describeKey,
  type EventSink,
  formatFieldError,
  type KubeObject,
  keyString,
  linearRegExp,
  type ObjectKey,
  StatusError,
} from '../apimachinery/index.ts';
import { mapLimit } from '../concurrency/index.ts';
import type { SecretStoreConfig } from '../config/index.ts';
import {
  type Kind,
  type KindTable,
  linkAnnotations,
  PULL_LABEL,
  placeOf,
  type StoreLink,
  storeLinkOf,
  storeLinkProblems,
} from '../kinds/index.ts';
import { isStoreWide } from '../secret-store-client/index.ts';
import { type LiveRead, StoreError } from '../secrets-merge/index.ts';
import type { Store, StoredObject } from '../state/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { StoreConnection } from './connection.ts';
import type { CycleRunner } from './cycle-runner.ts';
import { BOT, type GitParts, REVIEWED } from './git-side.ts';
import type { StoreSecrets } from './linked-secrets.ts';
import { listPath, type Refused } from './list-path.ts';
import { nameOf, nameProblem } from './pull-names.ts';

export type PullConfig = NonNullable<SecretStoreConfig['pulls']>[number];

/** Result of the last listing of a pull. */
export interface PullReport {
  readonly name: string;
  /** As in `placeOf`. */
  readonly place: string;
  readonly namespace: string;
  /** Reason why nothing, or not everything, was listed. */
  readonly problem: { readonly reason: string; readonly message: string } | undefined;
  /** Secrets with a linked object. */
  readonly tied: number;
  /** Secrets whose object a user unlinked. */
  readonly untied: number;
  /** Secrets that have no object. */
  readonly refused: readonly Refused[];
}

export interface PathPullsOptions {
  /** Name of the store. */
  readonly name: string;
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get'>;
  readonly linked: StoreSecrets;
  readonly registry: Pick<GitParts['registry'], 'create'>;
  readonly cycles: Pick<CycleRunner, 'saveCreated'>;
  readonly isReviewed: boolean;
  readonly isStopping: () => boolean;
  readonly events: EventSink;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Concurrent creations; they share a flush, and leave the store time for changes in git. */
const CONCURRENCY = 8;

interface Candidate {
  readonly link: StoreLink;
  readonly key: ObjectKey;
  readonly body: KubeObject;
}

/** Lists the path once. */
export class PullRun {
  readonly #options: PathPullsOptions;
  readonly #connection: StoreConnection;
  readonly #pull: PullConfig;
  readonly #before: ReadonlySet<string>;
  readonly #refused: Refused[] = [];
  #tied = 0;
  #untied = 0;

  constructor(
    options: PathPullsOptions,
    of: {
      readonly connection: StoreConnection;
      readonly pull: PullConfig;
      readonly before: PullReport | undefined;
    },
  ) {
    this.#options = options;
    this.#connection = of.connection;
    this.#pull = of.pull;
    this.#before = new Set(of.before?.refused.map(({ message }) => message));
  }

  async report(): Promise<PullReport> {
    const { name, namespace } = this.#pull;
    const problem = await this.#run().then(
      () => undefined,
      (error: unknown) => this.#problemOf(error),
    );
    const { path = '' } = this.#pull;
    const place = placeOf({
      store: this.#options.name,
      mount: trimmed(this.#pull.mount),
      path: trimmed(path),
    });
    const counts = { tied: this.#tied, untied: this.#untied, refused: this.#refused };
    return { name, place, namespace, problem, ...counts };
  }

  async #run(): Promise<void> {
    const { isReviewed, isStopping } = this.#options;
    if (isReviewed) throw new StoreError(REVIEWED, { reason: 'ReviewOnly' });
    const { mount, recursive: isRecursive } = this.#pull;
    const path = trimmed(this.#pull.path ?? '');
    const list = (folder: string) => this.#connection.folder(trimmed(mount), folder);
    const { paths, refused } = await listPath({ path, isRecursive, list, isStopping });
    for (const path of refused) this.#refused.push(path);
    await this.#makeAll(this.#candidates(paths.filter(this.#filter(path))));
  }

  #problemOf(error: unknown): { reason: string; message: string } {
    if (error instanceof StoreError) return { reason: error.reason, message: error.message };
    this.#options.logger.error({ err: error }, 'A path of the secret store could not be pulled');
    return { reason: 'InternalError', message: 'See the log of gitplane' };
  }

  #filter(path: string): (secret: string) => boolean {
    const { match = '', exclude = '' } = this.#pull;
    const matches = match === '' ? () => true : linearRegExp(match);
    const isExcluded = exclude === '' ? () => false : linearRegExp(exclude);
    return (secret) => {
      const below = this.#below(path, secret);
      return matches(below) && !isExcluded(below);
    };
  }

  #below(path: string, secret: string): string {
    return path === '' ? secret : secret.slice(path.length + 1);
  }

  /** Secrets without an object, up to the limit. */
  #candidates(paths: readonly string[]): Candidate[] {
    const kind = this.#kind;
    const tied = this.#tiedPaths(kind);
    const made = new Map<string, Candidate>();
    this.#tied = paths.filter((path) => tied.has(path)).length;
    let beyond = 0;
    for (const path of paths) {
      if (tied.has(path)) continue;
      const candidate = this.#candidateOf(kind, path, made);
      if (candidate === undefined) continue;
      if (this.#tied + made.size >= this.#pull.limit) beyond += 1;
      else made.set(candidate.key.name, candidate);
    }
    if (beyond > 0) {
      const message = `${beyond} more secrets are below the path than its limit of ${this.#pull.limit}; raise limit, or narrow match`;
      this.#refused.push({ path: this.#pull.path ?? '', reason: 'LimitReached', message });
    }
    return [...made.values()];
  }

  get #kind(): Kind {
    const { kinds } = this.#options;
    const kind = kinds.kinds.find((one) => one.followsStore && one.kind === this.#pull.kind);
    if (kind === undefined) throw new Error(`There is no kind ${this.#pull.kind}`);
    return kind;
  }

  #tiedPaths(kind: Kind): ReadonlySet<string> {
    const mount = trimmed(this.#pull.mount);
    const ofPull = this.#options.linked
      .all()
      .filter(
        ({ key, link }) =>
          key.kind === kind.kind && key.namespace === this.#pull.namespace && link.mount === mount,
      );
    return new Set(ofPull.map(({ link }) => link.path));
  }

  /** Undefined: no object can be created; the reason is recorded. */
  #candidateOf(
    kind: Kind,
    path: string,
    made: ReadonlyMap<string, Candidate>,
  ): Candidate | undefined {
    const { namespace } = this.#pull;
    const name = nameOf(this.#pull.nameTemplate, this.#below(trimmed(this.#pull.path ?? ''), path));
    const problem = nameProblem(name);
    if (problem !== undefined) return this.#refuse(path, 'NameInvalid', problem);
    const body = this.#bodyOf(kind, name, path);
    const [invalid] = storeLinkProblems(body);
    const link = storeLinkOf(kind, body);
    if (invalid !== undefined || link === undefined) {
      return this.#refuse(
        path,
        'PathInvalid',
        `it cannot be tied: ${invalid ? formatFieldError(invalid) : 'see its annotations'}`,
      );
    }
    const key = { group: kind.group, kind: kind.kind, namespace, name };
    const other = made.get(name);
    if (other !== undefined) {
      return this.#refuse(
        path,
        'NameTaken',
        `${describeKey(key)} is to be made of ${JSON.stringify(other.link.path)}`,
      );
    }
    const found = this.#options.store.get(key);
    return found === undefined ? { link, key, body } : this.#isTaken(kind, path, found);
  }

  /**
   * An existing object is never changed. An object of the pull that a user unlinked is not a
   * problem.
   */
  #isTaken(kind: Kind, path: string, { key, terminating, object }: StoredObject): undefined {
    if (terminating) return undefined;
    const { metadata } = object;
    const link = storeLinkOf(kind, object);
    if (link === undefined && metadata.labels?.[PULL_LABEL] === this.#pull.name) {
      this.#untied += 1;
      return undefined;
    }
    const tie = link === undefined ? 'not tied to it' : `tied to ${placeOf(link)}`;
    const why = `${describeKey(key)} is there and ${tie}; the pull leaves it alone`;
    const message = this.#refusalOf(path, why);
    if (!this.#before.has(message)) {
      const { events, clock } = this.#options;
      const { uid = '' } = metadata;
      const told = { type: 'Warning', reason: 'NameTaken', component: BOT.name } as const;
      events.record({
        key,
        uid,
        message: `Pull ${this.#pull.name}: ${message}`,
        time: clock.now(),
        ...told,
      });
    }
    return this.#refuse(path, 'NameTaken', why);
  }

  #bodyOf(kind: Kind, name: string, path: string): KubeObject {
    const { namespace, labels = {}, mount, deletionPolicy } = this.#pull;
    const link = { store: this.#options.name, mount: trimmed(mount), path };
    return {
      apiVersion: `${kind.group}/${kind.version}`,
      kind: kind.kind,
      metadata: {
        name,
        namespace,
        labels: { ...labels, [PULL_LABEL]: this.#pull.name },
        annotations: linkAnnotations(link, deletionPolicy === 'Delete'),
      },
    };
  }

  /** Rejects if the whole store does not answer. */
  async #makeAll(candidates: readonly Candidate[]): Promise<void> {
    await mapLimit(candidates, CONCURRENCY, async (candidate) => {
      if (!this.#options.isStopping()) await this.#make(candidate);
    });
  }

  async #make(candidate: Candidate): Promise<void> {
    const { link, key } = candidate;
    try {
      const side = await this.#connection.sideOf(link);
      const read = await side.read();
      if (read.state !== 'live') return;
      await this.#create(candidate, read, side.mount);
      this.#tied += 1;
    } catch (error) {
      if (isStoreWide(error)) throw error;
      const isTaken = error instanceof StatusError && error.reason === 'AlreadyExists';
      if (isTaken) this.#refuse(link.path, 'NameTaken', `${describeKey(key)} was made meanwhile`);
      else if (error instanceof StatusError) this.#refuse(link.path, 'GitRefused', error.message);
      else if (error instanceof StoreError) this.#refuse(link.path, error.reason, error.message);
      else throw error;
    }
  }

  async #create(
    { link, key, body }: Candidate,
    { at, values }: LiveRead,
    mount: string | undefined,
  ): Promise<void> {
    const { registry, cycles, events, logger, clock } = this.#options;
    const { name: pull, namespace } = this.#pull;
    const data = [...values].map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
    const place = placeOf(link);
    const keys = [...values.keys()].sort().join(', ');
    const { object, commit = '' } = await registry.create({
      kind: this.#kind,
      namespace,
      body: { ...body, spec: { data: Object.fromEntries(data) } },
      duplicates: [],
      options: {
        user: BOT,
        dryRun: false,
        fieldValidation: 'Ignore',
        fieldManager: BOT.name,
        reason: `Pulled from the secret store, ${place}, by the pull ${pull}. Keys: ${keys}`,
        trailers:
          at.version > 0
            ? { 'Store-Version': String(at.version), 'Store-Created': at.createdTime }
            : {},
      },
    });
    const { uid = '' } = object.metadata;
    const base = { at, commit, values, ...(mount !== undefined && { mount }) };
    await cycles.saveCreated({ id: keyString(key), uid, link }, base);
    const { kind, name } = key;
    logger.info({ kind, namespace, name, place, pull, commit }, 'Made from the secret store');
    const message = `Made from ${place} by the pull ${pull}`;
    const told = { type: 'Normal', reason: 'Pulled', component: BOT.name } as const;
    events.record({ key, uid, message, time: clock.now(), ...told });
  }

  #refuse(path: string, reason: string, why: string): undefined {
    this.#refused.push({ path, reason, message: this.#refusalOf(path, why) });
    return undefined;
  }

  #refusalOf(path: string, why: string): string {
    return `${JSON.stringify(path)}: ${why}`;
  }
}

function trimmed(path: string): string {
  return path.replace(/^\/+|\/+$/g, '');
}
