/**
 * The platform as an administrator sees it, and what the campaign remembers of it: every life of every
 * object, which values each of them had, who sent them, and which keys there are.
 */
import { createHash } from 'node:crypto';
import type { HttpClient } from './http-client.ts';
import {
  idOf,
  isNamespaced,
  keyIdentity,
  MANAGEMENT,
  type Obj,
  type Objects,
  RBAC,
  Rights,
  type Scope,
} from './rights-model.ts';
import { tracesIn } from './traces.ts';

/** Before the uids of objects that readers do not see yet. */
const WAITING = 'waiting ';

export const ROOT = '/kubernetes/management';

/** The kinds of the campaign. */
export const KINDS: Readonly<Record<string, { kind: string; group: string }>> = {
  sharedsecrets: { kind: 'SharedSecret', group: MANAGEMENT },
  projectsecrets: { kind: 'ProjectSecret', group: MANAGEMENT },
  teams: { kind: 'Team', group: MANAGEMENT },
  users: { kind: 'User', group: MANAGEMENT },
  ownedaccesskeys: { kind: 'OwnedAccessKey', group: MANAGEMENT },
  clusterroles: { kind: 'ClusterRole', group: RBAC },
  clusterrolebindings: { kind: 'ClusterRoleBinding', group: RBAC },
  roles: { kind: 'Role', group: RBAC },
  rolebindings: { kind: 'RoleBinding', group: RBAC },
};
export const PLURALS = Object.keys(KINDS);

export function groupOf(plural: string): string {
  return KINDS[plural]?.group ?? '';
}

export function pathOf(plural: string, namespace = '', name = ''): string {
  const within = isNamespaced(plural) && namespace !== '' ? `/namespaces/${namespace}` : '';
  const own = name === '' ? '' : `/${name}`;
  return `${ROOT}/apis/${groupOf(plural)}/v1${within}/${plural}${own}`;
}

/** One object from when it was made until it is gone. */
export interface Life {
  readonly uid: string;
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Change {
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
  readonly before: Obj | undefined;
  readonly after: Obj | undefined;
}

/** The text of an access key, in the hands of a person. */
export interface HeldKey {
  readonly name: string;
  readonly text: string;
}

/** A key belongs to the life that its owner has when the key gets its terms, or to the next one. */
interface Tie {
  readonly terms: string;
  readonly ownerUid: string | undefined;
}

export interface Person {
  readonly name: string;
  readonly keys: HeldKey[];
  /** Of age. */
  readonly identity: string;
  readonly recipient: string;
  /** Data keys of files that this person sealed. */
  readonly dataKeys: Buffer[];
  /** Encrypted values that git had when `.sops.yaml` named this person. */
  readonly opened: Set<string>;
}

export class World {
  readonly admin: string;
  readonly #client: HttpClient;
  objects: ReadonlyMap<string, Obj> = new Map();
  /** Lives that had a canary or a mark, by it. */
  readonly livesWith = new Map<string, Set<string>>();
  readonly lives = new Map<string, Life>();
  /** The uid of each object that waits for a review, until it is merged or taken back. */
  readonly waiting = new Map<string, string>();
  /** Persons who sent a canary, by it. */
  readonly senders = new Map<string, Set<string>>();
  /** Texts of access keys that were handed out. */
  readonly tokens = new Set<string>();
  /** Scopes of the keys by which key objects got what they say, by uid. */
  readonly lineage = new Map<string, readonly Scope[]>();
  readonly versions: string[] = [];
  readonly #ties = new Map<string, Tie>();
  /** Newest commit of the branch when a life was seen first, by uid. */
  readonly #born = new Map<string, string>();
  /** What git holds of each key, by the name of its object. */
  #hashes: ReadonlyMap<string, string> = new Map();
  readonly commits: string[] = [];
  readonly times: string[] = [];
  /** Grows with each change, so that rights can be kept until then. */
  #generation = 0;
  #rights = new Map<HeldKey, { generation: number; rights: Rights | undefined }>();

  constructor(client: HttpClient, admin: string) {
    this.#client = client;
    this.admin = admin;
  }

  /** Every object of the campaign, now or at a commit, but for what follows from owners and access rules. */
  async fetch(commit?: string): Promise<Map<string, Obj>> {
    const query = commit === undefined ? '' : `?atRevision=${commit}`;
    const found = new Map<string, Obj>();
    await Promise.all(
      PLURALS.map(async (plural) => {
        const { code, text } = await this.#client.call('GET', pathOf(plural) + query, {
          token: this.admin,
        });
        if (code !== 200) throw new Error(`The administrator cannot list ${plural}: ${text}`);
        const list = JSON.parse(text) as { items: Obj[]; metadata: { resourceVersion: string } };
        for (const item of list.items) {
          const { name, namespace = '' } = item.metadata;
          if (!name.startsWith('gitplane:access:')) found.set(idOf(plural, namespace, name), item);
        }
        const isNow = commit === undefined;
        if (plural === 'sharedsecrets' && isNow) this.versions.push(list.metadata.resourceVersion);
      }),
    );
    return found;
  }

  diff(next: ReadonlyMap<string, Obj>): Change[] {
    return changesBetween(this.objects, next);
  }

  apply(next: ReadonlyMap<string, Obj>, hashes: ReadonlyMap<string, string>): void {
    for (const [id, object] of next) {
      if (this.objects.get(id)?.metadata.resourceVersion === object.metadata.resourceVersion) {
        continue;
      }
      const [plural = '', namespace = '', name = ''] = id.split('/');
      const { uid } = object.metadata;
      this.#had({ uid, plural, namespace, name }, JSON.stringify(object));
    }
    for (const [id, uid] of this.waiting) {
      const isServed = !uid.startsWith(WAITING);
      if (isServed && next.get(id)?.metadata.uid !== uid) this.waiting.delete(id);
    }
    this.objects = next;
    this.#hashes = hashes;
    this.#generation++;
    for (const [id, object] of next) if (id.startsWith('ownedaccesskeys/')) this.#tie(object);
  }

  /** Objects of a commit that was never the newest: readers of the past see it all the same. */
  applyPast(past: ReadonlyMap<string, Obj>): void {
    for (const [id, object] of past) {
      const [plural = '', namespace = '', name = ''] = id.split('/');
      const { uid } = object.metadata;
      const known = this.lives.get(uid) ?? { plural, namespace, name };
      if (idOf(known.plural, known.namespace, known.name) !== id) {
        throw new Error(`${id} has the uid of ${JSON.stringify(known)}`);
      }
      this.#had({ uid, plural, namespace, name }, JSON.stringify(object));
    }
  }

  /** Owners of keys that have another life after a push, by the uid that each had and has. */
  ownersReplaced(next: ReadonlyMap<string, Obj>): { id: string; from: string; to: string }[] {
    return [...this.objects].flatMap(([id, { metadata }]) => {
      const to = next.get(id)?.metadata.uid;
      const isOwner = id.startsWith('users/') || id.startsWith('teams/');
      return isOwner && to !== undefined && to !== metadata.uid
        ? [{ id, from: metadata.uid, to }]
        : [];
    });
  }

  bornAt(uid: string): string | undefined {
    return this.#born.get(uid);
  }

  /** Lives of two lines of history become one in a merge, and the keys of both belong to it. */
  join(from: string, to: string): void {
    for (const [uid, tie] of this.#ties) {
      if (tie.ownerUid === from) this.#ties.set(uid, { ...tie, ownerUid: to });
    }
  }

  #had(life: Life, text: string): void {
    const head = this.commits.at(-1);
    if (head !== undefined && !this.#born.has(life.uid)) this.#born.set(life.uid, head);
    this.lives.set(life.uid, life);
    const { canaries, marks } = tracesIn(text);
    for (const trace of [...canaries, ...marks]) {
      this.livesWith.set(trace, (this.livesWith.get(trace) ?? new Set()).add(life.uid));
    }
  }

  /** An object that waits for a review has another text; `isNew`: it begins another life. */
  waits(at: Omit<Life, 'uid'>, text: string, isNew: boolean): void {
    const { plural, namespace, name } = at;
    const id = idOf(plural, namespace, name);
    const uid = isNew ? undefined : (this.waiting.get(id) ?? this.objects.get(id)?.metadata.uid);
    const own = uid ?? `${WAITING}${this.lives.size}`;
    this.waiting.set(id, own);
    this.#had({ uid: own, plural, namespace, name }, text);
  }

  /** An object of a file that may never be served. */
  unserved(at: Omit<Life, 'uid'>, text: string): void {
    this.#had({ uid: `unserved ${this.lives.size}`, ...at }, text);
  }

  find(plural: string, namespace: string, name: string): Obj | undefined {
    return this.objects.get(idOf(plural, namespace, name));
  }

  isLive({ uid, plural, namespace, name }: Life): boolean {
    const isWaiting = this.waiting.get(idOf(plural, namespace, name)) === uid;
    return isWaiting || this.find(plural, namespace, name)?.metadata.uid === uid;
  }

  names(plural: string): string[] {
    return [...this.objects.keys()].filter((id) => id.startsWith(`${plural}/`));
  }

  /** What a key may do now; undefined: it does not work. */
  rightsOf(key: HeldKey): Rights | undefined {
    const kept = this.#rights.get(key);
    if (kept?.generation === this.#generation) return kept.rights;
    const rights = this.#workOut(key);
    this.#rights.set(key, { generation: this.#generation, rights });
    return rights;
  }

  #tie(key: Obj): void {
    const { uid, name } = key.metadata;
    const { user, team } = key.spec ?? {};
    const terms = JSON.stringify([user, team, this.#hashes.get(name)]);
    const tie = this.#ties.get(uid);
    if (tie?.terms === terms && tie.ownerUid !== undefined) return;
    this.#ties.set(uid, { terms, ownerUid: this.#ownerUid(key) });
  }

  #workOut(key: HeldKey): Rights | undefined {
    const object = this.objectOf(key);
    if (object === undefined || this.isOrphan(object)) return undefined;
    const lineage = this.lineage.get(object.metadata.uid) ?? [];
    const identity = keyIdentity(this.objects, object, lineage);
    return identity && new Rights(this.objects, identity);
  }

  /** The object of a key; undefined: none has its text. */
  objectOf({ name, text }: HeldKey): Obj | undefined {
    return this.#hashes.get(name) === hashOf(text)
      ? this.find('ownedaccesskeys', '', name)
      : undefined;
  }

  /** True if the owner of a key is another one than it was made for, or is not there. */
  isOrphan(key: Obj): boolean {
    const owner = this.#ownerUid(key);
    return owner === undefined || this.#ties.get(key.metadata.uid)?.ownerUid !== owner;
  }

  #ownerUid({ spec = {} }: Obj): string | undefined {
    const { user, team } = spec;
    const owner =
      user === undefined ? this.find('teams', '', team ?? '') : this.find('users', '', user);
    return owner?.metadata.uid;
  }
}

/** Objects that differ between two states of a platform. */
export function changesBetween(then: Objects, now: Objects): Change[] {
  const changes: Change[] = [];
  for (const id of new Set([...then.keys(), ...now.keys()])) {
    const [before, after] = [then.get(id), now.get(id)];
    if (desired(before) === desired(after)) continue;
    const [plural = '', namespace = '', name = ''] = id.split('/');
    const isNewLife = before && after && before.metadata.uid !== after.metadata.uid;
    const at = { plural, namespace, name };
    if (isNewLife) {
      changes.push({ ...at, before, after: undefined }, { ...at, before: undefined, after });
    } else changes.push({ ...at, before, after });
  }
  return changes;
}

/** As the documentation of access keys has it. */
export function hashOf(text: string): string {
  return `sha256:${createHash('sha256').update(`gitplane.dev/access-key\0${text}`).digest('hex')}`;
}

/** The references with which an object goes, as text. */
export function ownersOf(object: Obj | undefined): string {
  return JSON.stringify(object?.metadata.ownerReferences ?? []);
}

/** What a write can change; a status follows by itself. */
export function desired(object: Obj | undefined): string {
  if (object === undefined) return '';
  const { metadata, spec, rules, roleRef, subjects } = object;
  const { uid, labels, annotations, deletionTimestamp, finalizers } = metadata;
  const ending = [deletionTimestamp, finalizers ?? [], ownersOf(object)];
  const isCopy = labels?.['gitplane.dev/sharedsecret-name'] !== undefined;
  const { data, ...rest } = spec ?? {};
  const own = isCopy ? rest : spec;
  const shown = [labels ?? {}, annotations ?? {}, own, rules, roleRef, subjects];
  return JSON.stringify([uid, ending, ...shown]);
}
