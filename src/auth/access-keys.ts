/**
 * Authentication by access keys (spec sections 2.6 and 5): from the text of a key to the user of a
 * request. Keys are known by their hash only. Kept up to date by `set` and `remove`, one call per
 * change of an OwnedAccessKey.
 */
import { timingSafeEqual } from 'node:crypto';
import {
  type Clock,
  type JsonObject,
  type KubeObject,
  rfc3339,
  type User,
} from '../apimachinery/index.ts';
import { concealAccessKey, isConcealedAccessKey } from '../kinds/index.ts';
import { type AccessKey, identityOf, readAccessKey } from './access-key.ts';
import type { ActivityTracker } from './activity.ts';
import type { Directory } from './directory.ts';
import {
  type Identity,
  type IdentityOwner,
  type OwnerProblem,
  resolveIdentity,
} from './identity.ts';
import { expiresAt, isFromTheFuture, type KeyLifetimeLimits, latestEnd } from './key-lifetime.ts';
import { Multimap } from './multimap.ts';
import { Scope } from './scope.ts';
import type { PermitContext } from './scope-permits.ts';

export interface AccessKeyOptions {
  readonly directory: Directory;
  readonly activity: ActivityTracker;
  /** The limits of the current configuration; asked at every use, so it should be cheap. */
  readonly limits: () => KeyLifetimeLimits;
  readonly clock: Clock;
  /** What scopes of keys are judged by. */
  readonly scopes: PermitContext;
}

export interface Authenticated {
  readonly authenticated: true;
  /** Carries the scope of the key. */
  readonly user: User;
  readonly owner: IdentityOwner;
  /** Identity of the access key; see `identityOf`. */
  readonly keyId: string;
  /** Milliseconds since the epoch; Infinity for a key that does not end. */
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
  /** For audit and metrics. */
  readonly reason: RejectReason;
  /** For the body of the 401. Says more than `Unauthorized` only to the holder of a real key. */
  readonly message: string;
}

const UNKNOWN: Rejected = { authenticated: false, reason: 'unknown', message: 'Unauthorized' };

const LONGEST_TOKEN = 1024;
/** Texts of keys that are remembered. */
const MOST_RECENT = 4096;

/** Where the digits of a concealed key begin. */
const DIGEST_BEGINS = 'sha256:'.length;
/** Compared against where there is no key, so that unknown keys take as long as known ones. */
const NO_DIGEST = Buffer.alloc(32);
/** The digest of the key that is looked at; nothing waits while it is. */
const shown = Buffer.alloc(32);

interface Entry {
  readonly key: AccessKey;
  /** Compiled when the key is first used: most keys of a large platform rest. */
  scope: Scope | undefined;
  /** The identity as of `version` of the directory. */
  identity: Identity | undefined;
  version: number;
  /** Identity of the key, once it was asked for. */
  id: string | undefined;
  /** The last answer to it. */
  answer: Authenticated | undefined;
}

export class AccessKeyIndex {
  readonly #options: AccessKeyOptions;
  readonly #byName = new Map<string, Entry>();
  /** Concealed key → its objects, the one that counts first. Nearly always there is one. */
  readonly #byHash = new Map<string, Entry[]>();
  /** Names of users and teams to the names of the keys that act as them. */
  readonly #byActor = new Multimap();
  /** Keys in use by their text, which only memory holds. Looked at again each time: see `#counts`. */
  readonly #recent = new Map<string, Entry>();

  constructor(options: AccessKeyOptions) {
    this.#options = options;
  }

  /**
   * Adds or replaces a key. `hidden.key` is the concealed key, `hidden.ownerUid` whom the key was
   * made for. An object without a key, or one that is being deleted, authenticates nobody.
   */
  set(name: string, object: KubeObject, hidden: JsonObject | undefined): void {
    const before = this.#byName.get(name)?.key;
    this.#drop(name);
    const key = readAccessKey(name, object, hidden);
    if (before !== undefined && before.uid !== key?.uid) this.#options.activity.forget(name);
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
    this.#options.activity.forget(name);
  }

  /**
   * Decides about a bearer token, and notes the use of a key that passed. The answer to the same key
   * is the same object until something about it changes.
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

  /** True if a key of that name exists, is enabled, has begun, has not ended and has its owner. */
  works(name: string): boolean {
    const entry = this.#byName.get(name);
    const now = this.#options.clock.now();
    if (entry === undefined || entry.key.disabled) return false;
    if (isFromTheFuture(entry.key.lifetime, now)) return false;
    return now < this.#expiresAt(entry.key) && this.#isOfPresentOwner(entry);
  }

  /** Identity of the key of that name; undefined while it does not work. */
  idOf(name: string): string | undefined {
    const entry = this.#byName.get(name);
    return entry === undefined || !this.works(name) ? undefined : idOf(entry);
  }

  /** The holder of the key of that name, as `authenticate` gives it; undefined while it does not work. */
  holder(name: string): Authenticated | undefined {
    const entry = this.#byName.get(name);
    if (entry === undefined || !entry.key.forRequests || !this.works(name)) return undefined;
    const identity = this.#identity(entry);
    return 'reason' in identity ? undefined : accepted(entry, identity, this.#expiresAt(entry.key));
  }

  /** Why the owner of a key makes it useless; undefined: it does not. */
  ownerProblem(name: string): Exclude<Identity, { user: User }> | undefined {
    const entry = this.#byName.get(name);
    const identity = entry && this.#identity(entry);
    return identity !== undefined && 'reason' in identity ? identity : undefined;
  }

  /** Names of the keys that act under a name, whether or not they work. */
  keysOf(as: ActingAs, name: string): string[] {
    return [...this.#byActor.get(actorText(as, name))];
  }

  /**
   * True if any key acts under a name, whether or not it works. Keys of logins do not count: the
   * garbage collector removes them after their user.
   */
  isActedAs(as: ActingAs, name: string): boolean {
    return this.keysOf(as, name).some((key) => !this.#byName.get(key)?.key.lifetime.login);
  }

  /** Keys of logins of the users that there are: their names, by the name of the user. */
  logins(): { readonly key: string; readonly user: string }[] {
    return [...this.#byName.values()].flatMap((entry) => {
      const { key } = entry;
      const { user } = key.owner;
      if (!key.lifetime.login || !this.#isOfPresentOwner(entry)) return [];
      return user !== undefined ? [{ key: key.name, user }] : [];
    });
  }

  /** The object that a concealed key authenticates as; undefined when there is none. */
  holderOf(concealed: string): string | undefined {
    return this.#byHash.get(concealed)?.[0]?.key.name;
  }

  /**
   * Names of the keys that ended longer ago than they are kept; keys of a login are kept no longer
   * than they work. Whether a key whose time counts from its last use has ended nobody knows while
   * that use may have been forgotten with the state: it counts when the latest possible end has come.
   */
  overdue(keptMs: number): string[] {
    const now = this.#options.clock.now();
    const keys = [...this.#byName.values()].map(({ key }) => key);
    return keys
      .filter((key) => now >= this.#knownEnd(key) + (key.lifetime.login ? 0 : keptMs))
      .map(({ name }) => name);
  }

  /** Hashing runs long ways through cold code: for a request it costs as much as all the rest. */
  #find(token: string): Entry | undefined {
    const recent = this.#recent.get(token);
    if (recent !== undefined && this.#counts(recent)) return recent;
    const found = this.#search(token);
    if (found === undefined) return undefined;
    if (this.#recent.size >= MOST_RECENT) this.#recent.clear();
    this.#recent.set(token, found);
    return found;
  }

  #counts(entry: Entry): boolean {
    return this.#byHash.get(entry.key.concealed)?.[0] === entry;
  }

  /** The hash of a key is in git for many to read: it must not work in place of the key. */
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

  /** False: the owner is gone and another one has its name. */
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

function narrowed(identity: Identity, scope: Scope | undefined): Identity {
  if (scope === undefined || 'reason' in identity) return identity;
  return { ...identity, user: { ...identity.user, scope } };
}

/**
 * Of two objects with the same key the older one counts: whoever can write to git can copy the hash
 * of a key into an object of their own, and must neither take it over nor shut it out. The age is
 * what a commit says; where writes are judged, none may bring the key of another object at all.
 */
function byAge(a: Entry, b: Entry): number {
  const age = a.key.lifetime.creation - b.key.lifetime.creation;
  if (age !== 0) return age;
  return a.key.name < b.key.name ? -1 : 1;
}

function rejected(reason: RejectReason, message: string): Rejected {
  return { authenticated: false, reason, message };
}
