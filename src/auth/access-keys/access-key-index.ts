/**
 * Authentication by access keys (spec sections 2.6 and 5): from the text of a key to the user of a
 * request. Only hashes of keys are stored. `set` and `remove` follow the changes of OwnedAccessKeys.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type Clock,
  type JsonObject,
  type KubeObject,
  rfc3339,
  type User,
} from '../../apimachinery/index.ts';
import { concealAccessKey, isConcealedAccessKey } from '../../kinds/index.ts';
import type { Directory } from '../identity/directory.ts';
import {
  type Identity,
  type IdentityOwner,
  type OwnerProblem,
  resolveIdentity,
} from '../identity/identity.ts';
import { Multimap } from '../identity/multimap.ts';
import type { PermitContext } from '../scope/permits.ts';
import { Scope } from '../scope/scope.ts';
import { type AccessKey, readAccessKey } from './access-key.ts';
import { expiresAt, isFromTheFuture, type KeyLifetimeLimits, latestEnd } from './key-lifetime.ts';
import type { ActivityTracker } from './last-use.ts';

export interface AccessKeyOptions {
  readonly directory: Directory;
  readonly activity: ActivityTracker;
  /** Limits of the current configuration; read at every use, so it should be cheap. */
  readonly limits: () => KeyLifetimeLimits;
  readonly clock: Clock;
  /** Context in which scopes of keys are evaluated. */
  readonly scopes: PermitContext;
}

export interface Authenticated {
  readonly authenticated: true;
  /** Carries the scope of the key. */
  readonly user: User;
  readonly owner: IdentityOwner;
  /** Identity of the access key; see `identityOf`. */
  readonly keyId: string;
  /** Milliseconds since the epoch; Infinity for a key without an end. */
  readonly keyExpiresAt: number;
}

export type RejectReason =
  | 'unknown'
  | 'disabled'
  | 'expired'
  | 'not-yet'
  | 'not-for-requests'
  | OwnerProblem;

export interface Rejected {
  readonly authenticated: false;
  /** Reason for audit and metrics. */
  readonly reason: RejectReason;
  /** Body of the 401. Only the holder of a real key gets more than `Unauthorized`. */
  readonly message: string;
}

const UNKNOWN: Rejected = { authenticated: false, reason: 'unknown', message: 'Unauthorized' };

const LONGEST_TOKEN = 1024;
/** Number of key texts in the cache. */
const MOST_RECENT = 4096;

/** Start of the digits in a concealed key. */
const DIGEST_BEGINS = 'sha256:'.length;
/** Compared when no key matches, so that unknown keys take as long as known ones. */
const NO_DIGEST = Buffer.alloc(32);
/** Digest of the key under comparison; shared, because the comparison never yields. */
const shown = Buffer.alloc(32);

interface Entry {
  readonly key: AccessKey;
  /** Compiled at the first use of the key: most keys of a large platform are unused. */
  scope: Scope | undefined;
  /** Identity as of `version` of the directory. */
  identity: Identity | undefined;
  version: number;
  /** Identity of the key, computed on first use. */
  id: string | undefined;
  /** The last result for this key. */
  answer: Authenticated | undefined;
}

export class AccessKeyIndex {
  readonly #options: AccessKeyOptions;
  readonly #byName = new Map<string, Entry>();
  /** Concealed key → its objects, the valid one first. Nearly always there is only one. */
  readonly #byHash = new Map<string, Entry[]>();
  /** Names of users and teams to the names of the keys that act as them. */
  readonly #byActor = new Multimap();
  /** Cache by key text, in memory only. `#isCurrent` checks each hit. */
  readonly #recent = new Map<string, Entry>();

  constructor(options: AccessKeyOptions) {
    this.#options = options;
  }

  /**
   * Adds or replaces a key. `hidden.key` is the concealed key, `hidden.ownerUid` the uid of its owner. An
   * object without a key, or one that is being deleted, cannot authenticate.
   */
  set(name: string, object: KubeObject, hidden: JsonObject | undefined): void {
    const before = this.#byName.get(name)?.key;
    this.#drop(name);
    const key = readAccessKey(name, object, hidden);
    if (before !== undefined && before.uid !== key?.uid) this.#options.activity.drop(name);
    if (key === undefined || object.metadata.deletionTimestamp !== undefined) return;
    const unknown = { scope: undefined, identity: undefined, version: -1 };
    const entry: Entry = { key, ...unknown, id: undefined, answer: undefined };
    this.#byName.set(name, entry);
    for (const actor of actorsOf(key)) this.#byActor.add(actor, name);
    const holders = [...(this.#byHash.get(key.concealed) ?? []), entry];
    this.#byHash.set(key.concealed, holders.sort(byAge));
  }

  remove(name: string): void {
    this.#drop(name);
    this.#options.activity.drop(name);
  }

  /**
   * Authenticates a bearer token, and records the use of a valid key. The result for a key is the same
   * object until something about the key changes.
   */
  authenticate(token: string): Authenticated | Rejected {
    const entry = this.#find(token);
    if (entry === undefined) return UNKNOWN;
    const { key } = entry;
    if (key.disabled) return rejected('disabled', 'access key is disabled');
    const now = this.#options.clock.now();
    const end = this.#expiresAt(key);
    if (now >= end) return rejected('expired', 'access key expired. Please login again');
    if (isFromTheFuture(key.lifetime, now)) {
      const { creation } = key.lifetime;
      return rejected('not-yet', `access key was made in the future, at ${rfc3339(creation)}`);
    }
    if (!key.forRequests) {
      return rejected('not-for-requests', 'access key is of a type that makes no API requests');
    }
    const identity = this.#identity(entry);
    if ('reason' in identity) return rejected(identity.reason, identity.message);
    this.#options.activity.record(key.name, now, key.savedAtOnce);
    return accepted(entry, identity, end);
  }

  /** True if the key exists, is enabled, has begun, has not ended, and its owner is unchanged. */
  works(name: string): boolean {
    const entry = this.#byName.get(name);
    const now = this.#options.clock.now();
    if (entry === undefined || entry.key.disabled) return false;
    if (isFromTheFuture(entry.key.lifetime, now)) return false;
    return now < this.#expiresAt(entry.key) && this.#isOfPresentOwner(entry);
  }

  /** Identity of a key; undefined while the key does not work. */
  idOf(name: string): string | undefined {
    const entry = this.#byName.get(name);
    return entry === undefined || !this.works(name) ? undefined : idOf(entry);
  }

  /** Holder of a key, as `authenticate` returns it; undefined while the key does not work. */
  holder(name: string): Authenticated | undefined {
    const entry = this.#byName.get(name);
    if (entry === undefined || !entry.key.forRequests || !this.works(name)) return undefined;
    const identity = this.#identity(entry);
    return 'reason' in identity ? undefined : accepted(entry, identity, this.#expiresAt(entry.key));
  }

  /** Reason why the owner makes a key useless; undefined: the key is usable. */
  ownerProblem(name: string): Exclude<Identity, { user: User }> | undefined {
    const entry = this.#byName.get(name);
    const identity = entry && this.#identity(entry);
    return identity !== undefined && 'reason' in identity ? identity : undefined;
  }

  /** Names of the keys that act under a name, including keys that do not work. */
  keysOf(as: ActingAs, name: string): string[] {
    return [...this.#byActor.get(actorText(as, name))];
  }

  /**
   * True if any key acts under a name, including keys that do not work. Login keys do not count: the
   * garbage collector removes them after their user.
   */
  isActedAs(as: ActingAs, name: string): boolean {
    return this.keysOf(as, name).some((key) => !this.#byName.get(key)?.key.lifetime.login);
  }

  /** Login keys of existing users. */
  logins(): { readonly key: string; readonly user: string }[] {
    return [...this.#byName.values()].flatMap((entry) => {
      const { key } = entry;
      const { user } = key.owner;
      if (!key.lifetime.login || !this.#isOfPresentOwner(entry)) return [];
      return user !== undefined ? [{ key: key.name, user }] : [];
    });
  }

  /** Name of the object that a concealed key authenticates as; undefined: there is none. */
  holderOf(concealed: string): string | undefined {
    return this.#byHash.get(concealed)?.[0]?.key.name;
  }

  /**
   * Names of the keys that ended more than `keptMs` ago; login keys are due as soon as they end. If the
   * lifetime counts from the last use and that use may have been lost with the state, the latest possible
   * end counts.
   */
  overdue(keptMs: number): string[] {
    const now = this.#options.clock.now();
    const keys = [...this.#byName.values()].map(({ key }) => key);
    return keys
      .filter((key) => now >= this.#knownEnd(key) + (key.lifetime.login ? 0 : keptMs))
      .map(({ name }) => name);
  }

  /** Cached: hashing takes cold code paths, and for a request costs as much as everything else. */
  #find(token: string): Entry | undefined {
    const recent = this.#recent.get(token);
    if (recent !== undefined && this.#isCurrent(recent)) return recent;
    const found = this.#search(token);
    if (found === undefined) return undefined;
    if (this.#recent.size >= MOST_RECENT) this.#recent.clear();
    this.#recent.set(token, found);
    return found;
  }

  #isCurrent(entry: Entry): boolean {
    return this.#byHash.get(entry.key.concealed)?.[0] === entry;
  }

  /** Many users can read the hash of a key in git: the hash must not work in place of the key. */
  #search(token: string): Entry | undefined {
    if (token === '' || token.length > LONGEST_TOKEN || isConcealedAccessKey(token)) {
      return undefined;
    }
    const concealed = concealAccessKey(token);
    const entry = this.#byHash.get(concealed)?.[0];
    shown.write(concealed.slice(DIGEST_BEGINS), 'hex');
    return timingSafeEqual(shown, entry?.key.digest ?? NO_DIGEST) ? entry : undefined;
  }

  #knownEnd(key: AccessKey): number {
    const used = key.lastActivity ?? this.#options.activity.lastUse(key.name);
    const unknown = key.lifetime.ttlAfterLastActivity && used === undefined;
    return unknown ? latestEnd(key.lifetime, this.#options.limits()) : this.#expiresAt(key);
  }

  #expiresAt(key: AccessKey): number {
    const saved = key.lastActivity;
    const used = this.#options.activity.lastUse(key.name) ?? saved;
    const last = used === undefined ? undefined : Math.max(used, saved ?? used);
    return expiresAt(key.lifetime, last, this.#options.limits());
  }

  #identity(entry: Entry): Identity {
    const { directory } = this.#options;
    if (entry.identity === undefined || entry.version !== directory.version) {
      const { key } = entry;
      entry.scope ??= key.scope && new Scope(key.scope, this.#options.scopes);
      entry.identity = narrowed(resolveIdentity(key.owner, directory), entry.scope);
      entry.version = directory.version;
    }
    return entry.identity;
  }

  /** False: the owner is gone, and another one has its name. */
  #isOfPresentOwner(entry: Entry): boolean {
    const identity = this.#identity(entry);
    return !('reason' in identity && identity.reason === 'owner-replaced');
  }

  #drop(name: string): void {
    const entry = this.#byName.get(name);
    if (entry === undefined) return;
    this.#byName.delete(name);
    for (const actor of actorsOf(entry.key)) this.#byActor.delete(actor, name);
    const { concealed } = entry.key;
    const rest = (this.#byHash.get(concealed) ?? []).filter((other) => other !== entry);
    if (rest.length === 0) this.#byHash.delete(concealed);
    else this.#byHash.set(concealed, rest);
  }
}

/** A subject acts under the name of a user. */
export type ActingAs = 'user' | 'team';

function actorText(as: ActingAs, name: string): string {
  return `${as}/${name}`;
}

function actorsOf({ owner }: AccessKey): string[] {
  const { user, subject, team } = owner;
  return [
    ...[user, subject].filter((name) => name !== undefined).map((name) => actorText('user', name)),
    ...(team === undefined ? [] : [actorText('team', team)]),
  ];
}

function accepted(
  entry: Entry,
  { user, owner }: Extract<Identity, { user: User }>,
  keyExpiresAt: number,
): Authenticated {
  const { answer } = entry;
  if (answer?.user === user && answer.keyExpiresAt === keyExpiresAt) return answer;
  entry.answer = { authenticated: true, user, owner, keyId: idOf(entry), keyExpiresAt };
  return entry.answer;
}

function idOf(entry: Entry): string {
  entry.id ??= identityOf(entry.key);
  return entry.id;
}

/**
 * Identity of a key: differs for a later key of the same name, and for the same object with another key
 * text. 43 characters of base64url, from which the key cannot be derived.
 */
function identityOf({ uid = '', concealed }: AccessKey): string {
  return createHash('sha256').update(`${uid}\0${concealed}`).digest('base64url');
}

function narrowed(identity: Identity, scope: Scope | undefined): Identity {
  if (scope === undefined || 'reason' in identity) return identity;
  return { ...identity, user: { ...identity.user, scope } };
}

/**
 * Of two objects with the same key, the older one counts: a writer to git can copy the hash of a key into
 * an own object, which must neither take the key over nor lock it out. The age comes from the commit,
 * which can be back-dated; the key guard therefore refuses the key of another object.
 */
function byAge(a: Entry, b: Entry): number {
  const age = a.key.lifetime.creation - b.key.lifetime.creation;
  if (age !== 0) return age;
  return a.key.name < b.key.name ? -1 : 1;
}

function rejected(reason: RejectReason, message: string): Rejected {
  return { authenticated: false, reason, message };
}
