/**
 * An episode in which writes wait for a review (`--write-branch`): the API commits to a branch of a remote,
 * people push to that branch without any right of the platform, reviewers merge it, and readers see
 * what is merged. Rights are those of the followed branch, and a write is judged by what its commit changes.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { pathFilter } from '../../src/manifests/path-filter.ts';
import { type Daemon, scratchDir, startDaemon } from '../support/daemon.ts';
import { git } from '../support/git.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { type Act, Episode, NO_BUDGET, recipientsIn } from './episode.ts';
import type { Reply } from './http-client.ts';
import { describe } from './judge.ts';
import { BRANCH, type Moment, packed } from './push-client.ts';
import { RepositoryWatch } from './repository-watch.ts';
import { idOf, MANAGEMENT, type Obj, type Objects } from './rights-model.ts';
import { openValue, readSealed } from './sealed-files.ts';
import { tracesIn } from './traces.ts';
import {
  type Change,
  changesBetween,
  type HeldKey,
  KINDS,
  type Life,
  type Person,
  pathOf,
} from './world.ts';

const NAME = 'gitplane/writes';
export const WRITES = `refs/heads/${NAME}`;
/** The administrator writes this team, so that the daemon carries the branch over before others write. */
const PROBE = 'probe';
const PROBE_PATH = `teams/${PROBE}.yaml`;

type Files = Readonly<Record<string, string | null>>;

export class ReviewEpisode extends Episode {
  /** The branch that readers see. */
  readonly followed: RepositoryWatch;
  readonly #remote: string;
  readonly #parsed = new Map<string, readonly FileObject[]>();
  /** The platform as it will be when everything is merged, without values of secrets. */
  #waiting: Objects = new Map();
  #probes = 0;

  private constructor(daemon: Daemon, seed: number, remote: string) {
    super(daemon, seed, new RepositoryWatch(remote, WRITES));
    this.#remote = remote;
    this.followed = new RepositoryWatch(remote);
  }

  static override async begin(seed: number): Promise<ReviewEpisode> {
    const remote = join(scratchDir(), 'platform.git');
    git('/', ['init', '-q', '--bare', '--template=', '-b', 'main', remote]);
    git(remote, ['config', 'gc.auto', '0']);
    commit(remote, BRANCH, { head: '', files: new Map() }, { 'README.md': 'The platform.\n' });
    const episode = new ReviewEpisode(await start(remote), seed, remote);
    const [recipient] = recipientsIn(readFileSync(join(episode.daemon.dataDir, 'age.key'), 'utf8'));
    await episode.observe();
    episode.commit(BRANCH, { '.sops.yaml': `creation_rules:\n  - age: ${recipient}\n` });
    await episode.#sync();
    await episode.furnish(randomFrom(seed));
    await episode.restart();
    return episode;
  }

  override async end(): Promise<void> {
    this.followed.close();
    await super.end();
    rmSync(this.#remote, { recursive: true, force: true });
  }

  protected override async furnish(random: Random): Promise<void> {
    await super.furnish(random);
    await this.#probe();
    await this.observe();
  }

  async restart(): Promise<void> {
    const { dataDir } = this.daemon;
    await this.daemon.stop();
    this.continueWith(await start(this.#remote, dataDir));
  }

  /** A commit of people on top of a branch of the remote, or of one of its earlier commits. */
  commit(ref: string, files: Files, base?: Moment): void {
    const on = base ?? (ref === BRANCH ? this.followed.at : this.repository.at);
    commit(this.#remote, ref, on, files);
  }

  /** Moves the branch for writes to an earlier commit, or removes it. */
  takeBack(to?: string): void {
    if (to !== undefined) git(this.#remote, ['update-ref', WRITES, to]);
    else if (this.repository.newest() !== this.followed.newest()) {
      git(this.#remote, ['update-ref', '-d', WRITES]);
    }
  }

  /** A reviewer merges a commit of the branch for writes, if there is no conflict. */
  merge(other: string, isSquashed: boolean): boolean {
    const main = this.followed.newest();
    try {
      const tree = git(this.#remote, ['merge-tree', '--write-tree', main, other]);
      const parents = ['-p', main, ...(isSquashed ? [] : ['-p', other])];
      const merged = git(this.#remote, ['commit-tree', tree, ...parents, '-m', 'Merge']);
      git(this.#remote, ['update-ref', BRANCH, merged]);
      return true;
    } catch {
      return false;
    }
  }

  /** Files that others push have the marks that they show, and the values that their pusher made. */
  noteForeign(person: Person, files: Files): void {
    for (const { id, at, text } of this.#objectsOf(person, files)) {
      this.world.waits(at, text, !this.#waiting.has(id));
    }
  }

  /** The same for files of the followed branch, which may never be served, such as one of two with a name. */
  noteFollowed(person: Person, files: Files): void {
    for (const { at, text } of this.#objectsOf(person, files)) this.world.unserved(at, text);
  }

  *#objectsOf(person: Person, files: Files): Generator<ForeignObject> {
    for (const [path, text] of Object.entries(files)) {
      if (text === null || !path.endsWith('.yaml')) continue;
      for (const doc of parseAllDocuments(text)) {
        const object = objectOf(doc.toJS(), path);
        if (object === undefined) continue;
        const text = String(doc);
        const values = (readSealed(text)?.values ?? []).flatMap((value) =>
          person.dataKeys.flatMap((key) => openValue(key, value) ?? []),
        );
        const { canaries } = tracesIn(values.join(' '));
        const own = [...canaries].filter((one) => !this.world.livesWith.has(one));
        const { id } = object;
        const [plural = '', namespace = '', name = ''] = id.split('/');
        yield { id, at: { plural, namespace, name }, text: [text, ...own].join('\n') };
      }
    }
  }

  /** After people did something at the remote. */
  async settleRemote(): Promise<void> {
    const isMerged = this.followed.newest() !== this.followed.head;
    if (isMerged) await this.#sync();
    // A write goes on from a commit on top of the last one, and takes nothing over.
    if (isMerged || !(await this.repository.isAhead(this.repository.newest()))) await this.#probe();
    await this.observe();
    const [now, then] = [this.repository.at.files, this.followed.at.files];
    const paths = new Set([...now.keys(), ...then.keys()]);
    const isEverythingMerged = [...paths].every(
      (path) => path === PROBE_PATH || now.get(path) === then.get(path),
    );
    if (isEverythingMerged) this.world.waiting.clear();
  }

  /** The file may be gone. */
  async #probe(): Promise<void> {
    await this.client.call('PATCH', `${pathOf('teams', '', PROBE)}?fieldManager=m&force=true`, {
      token: this.world.admin,
      type: 'application/apply-patch+yaml',
      body: {
        apiVersion: `${MANAGEMENT}/v1`,
        kind: 'Team',
        metadata: { name: PROBE, labels: { probe: `${this.#probes++}` } },
      },
    });
  }

  override async observe(): Promise<void> {
    await this.followed.follow(this.followed.newest());
    await this.repository.follow(this.repository.newest());
    this.world.apply(await this.world.fetch(), this.followed.keyHashes());
    this.world.commits.push(this.followed.head, this.repository.head);
    this.world.times.push(new Date().toISOString());
    this.recipients = recipientsIn((await this.followed.file('.sops.yaml')) ?? '');
    this.#waiting = await this.#objects();
  }

  protected override async settle(act: Act, { code }: Reply, findings: string[]): Promise<string> {
    if (act.road?.by === 'remote') return act.label;
    const hasMoved = this.repository.newest() !== this.repository.head;
    if (!hasMoved && (act.road === undefined || code >= 300)) return '';
    const waiting = hasMoved ? await this.#settleWaiting(act, findings) : '';
    return waiting + (await this.#settleServed(act, findings));
  }

  protected override isThere(key: string): boolean {
    return this.#waiting.has(idOf('ownedaccesskeys', '', key));
  }

  /** A write is judged by the rights that its user has before the merge. */
  async #settleWaiting({ key, road, target, sent }: Act, findings: string[]): Promise<string> {
    const then = this.#waiting;
    const tip = this.repository.newest();
    // A write after a refused probe carries over what others pushed.
    if (!(await this.repository.isAhead(tip))) {
      await this.observe();
      return 'for review: carried over';
    }
    const move = await this.repository.follow(tip);
    this.#waiting = await this.#objects();
    const changes = changesBetween(then, this.#waiting);
    for (const { plural, namespace, name, before, after } of changes) {
      if (before === undefined) this.world.waits({ plural, namespace, name }, '', true);
      if (after === undefined) this.world.waiting.delete(idOf(plural, namespace, name));
    }
    if (target !== undefined && target.name !== '') this.world.waits(target, sent, false);
    if (road === undefined)
      findings.push(`changed ${describe(changes)} by a request that writes nothing`);
    else findings.push(...this.judge.changes(key, road, { changes, steers: move.steers }));
    findings.push(...this.judge.grants(key, changes, this.#waiting, then));
    findings.push(...this.#grantsNow(key, changes));
    findings.push(...this.judge.keysWritten(key, changes));
    findings.push(...(await this.leaksIn(move, road)));
    return `for review: ${describe(changes)}`;
  }

  /** The same rights as if nothing else were merged, for changes of objects on which nothing waits. */
  #grantsNow(key: HeldKey, changes: readonly Change[]): string[] {
    const next = new Map(this.world.objects);
    for (const { plural, namespace, name, before, after } of changes) {
      const id = idOf(plural, namespace, name);
      if (contentOf(before) !== contentOf(next.get(id))) return [];
      if (after === undefined) next.delete(id);
      else next.set(id, after);
    }
    return this.judge.grants(key, changes, next);
  }

  /** Readers see nothing before the merge, but for the end of a deletion that is merged. */
  async #settleServed({ key, road }: Act, findings: string[]): Promise<string> {
    if (this.followed.newest() !== this.followed.head) findings.push('moved the followed branch');
    const next = await this.world.fetch();
    const changes = this.world.diff(next);
    if (changes.length === 0) return '';
    const early = changes.filter(({ before }) => before?.metadata.deletionTimestamp === undefined);
    if (early.length > 0) findings.push(`changed ${describe(early)} before the review`);
    if (road !== undefined) {
      findings.push(...this.judge.changes(key, road, { changes, steers: false }));
    }
    this.world.apply(next, this.followed.keyHashes());
    return describe(changes);
  }

  async #sync(): Promise<void> {
    const { code, text } = await this.client.call('POST', '/sync', { token: this.world.admin });
    if (code !== 200) throw new Error(`The branch cannot be followed: ${text}`);
  }

  async #objects(): Promise<Objects> {
    const objects = new Map<string, Obj>();
    const filter = pathFilter('', await this.repository.file('.gitplaneignore'));
    for (const [path, blob] of this.repository.at.files) {
      if (!filter.includes(path)) continue;
      const known = this.#parsed.get(blob) ?? objectsIn(await this.repository.object(blob), path);
      this.#parsed.set(blob, known);
      for (const { id, object, isInClear } of known) {
        // A manifest with a secret in the clear is not in force: the served version stays.
        const inForce = isInClear ? this.world.objects.get(id) : object;
        if (inForce !== undefined) objects.set(id, inForce);
      }
    }
    return objects;
  }
}

/** Desired state. An object with defaults that its file does not have is not the one of the file. */
function contentOf(object: Obj | undefined): string {
  const { spec, rules, roleRef, subjects } = object ?? {};
  return JSON.stringify([object !== undefined, spec, rules, roleRef, subjects]);
}

function start(remote: string, dataDir?: string): Promise<Daemon> {
  const review = dataDir === undefined ? [] : ['--write-branch', NAME];
  return startDaemon({
    seed: undefined,
    args: ['--repo', remote, '--fetch-interval', '1h', ...review, ...NO_BUDGET],
    ...(dataDir === undefined ? {} : { dataDir }),
  });
}

function commit(remote: string, ref: string, base: Moment, files: Files): void {
  const parents = base.head === '' ? () => [] : undefined;
  const { pack, tip } = packed({ base, commits: [files], ...(parents && { parents }) });
  git(remote, ['unpack-objects', '-q'], { input: pack });
  git(remote, ['update-ref', ref, tip.head]);
}

interface ForeignObject {
  readonly id: string;
  readonly at: Omit<Life, 'uid'>;
  /** Text of its file, and values that its pusher encrypted. */
  readonly text: string;
}

interface FileObject {
  readonly id: string;
  readonly object: Obj;
  readonly isInClear: boolean;
}

function objectsIn(text: string, path: string): FileObject[] {
  return parseAllDocuments(text).flatMap((doc) => {
    try {
      return objectOf(doc.toJS(), path) ?? [];
    } catch {
      return [];
    }
  });
}

/** An object as a file has it, with the names of its secret values alone. */
function objectOf(value: unknown, path: string): FileObject | undefined {
  const object = value as Obj | null;
  const plural = Object.keys(KINDS).find((one) => KINDS[one]?.kind === object?.kind);
  const name = object?.metadata?.name;
  if (plural === undefined || name === undefined || object === null) return undefined;
  const folder = /^namespaces\/([^/]+)\//.exec(path)?.[1] ?? '';
  const namespace = object.metadata.namespace ?? folder;
  const data =
    object.spec?.data && Object.fromEntries(Object.keys(object.spec.data).map((key) => [key, '']));
  const spec = { ...object.spec, ...(data && { data }) };
  const values: readonly unknown[] = Object.values(object.spec?.data ?? {});
  return {
    id: idOf(plural, namespace, name),
    isInClear: values.some((one) => one !== '' && !String(one).startsWith('ENC[')),
    object: { ...object, spec, metadata: { ...object.metadata, namespace, uid: '' } },
  };
}
