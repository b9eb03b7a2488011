/**
 * What must never happen, whatever did. It sees every change of the store and of git, knows who made
 * it, and remembers where each value has been; values are never written twice, so each has a history.
 */
import { mayPull, mayPush, type SyncPolicy } from '../../src/secrets-merge/policy.ts';
import type { StoreVersion, SyncState } from '../../src/secrets-merge/sync-state.ts';
import type { KvKey, KvVersion } from '../support/kv/kv-mount.ts';

export type Values = Readonly<Record<string, unknown>>;

export class ModelJudge {
  readonly problems: string[] = [];
  /** How many pushes and deletions hid a value that only the store had; each has to be reported. */
  covered = 0;
  readonly #policy: SyncPolicy;
  /** Values that may be replaced: git had them, or a person was shown them. */
  readonly #safe = new Set<string>();
  /** Values that the store had, with the latest time it was given them. */
  readonly #stored = new Map<string, number>();
  /** Values that git had since the object was there. */
  readonly #gitHad = new Set<string>();
  readonly #agreed = new Map<string, number>();
  readonly #unreported = new Map<string, string>();
  /** What a deletion of ours hit and should not have; it has to be taken back. */
  readonly #hidden = new Map<string, string>();
  /** Values of keys that belong together, as people wrote them. */
  readonly #groups = new Set<string>();
  /** Whether each side holds nothing now. */
  readonly #isEmpty = { git: true, store: true };
  #sequence = 0;

  constructor(policy: SyncPolicy) {
    this.#policy = policy;
  }

  /** Somebody edited git. */
  gitGot(values: ReadonlyMap<string, string>): void {
    for (const value of values.values()) this.#gitHas(value);
    this.#isEmpty.git = values.size === 0;
    this.#groups.add(this.#group(Object.fromEntries(values)));
  }

  /** Every change of the store. */
  storeChanged(change: { before?: KvKey; after?: KvKey; isOurs: boolean; state: SyncState }): void {
    const { before, after, isOurs } = change;
    this.#sequence += 1;
    // Whoever removes a key for good removes what was covered along with it.
    if (after === undefined) this.#unreported.clear();
    for (const [number, version] of after?.versions ?? []) {
      const id = idOf({ version: number, createdTime: version.created });
      if (isReadable(version)) this.#hidden.delete(id);
    }
    if (after === undefined) this.#hidden.clear();
    const latest = after?.versions.get(after.current);
    const previous = before?.versions.get(before.current);
    this.#isEmpty.store = Object.keys(latest?.data ?? {}).length === 0;
    if (isOurs && after && latest) {
      if (after.current === before?.current) this.#judgeDeletion(before, after);
      else if (before && previous && isReadable(previous))
        this.#judgePush(change, previous, latest);
      if (after.current !== before?.current) this.#judgeGroup('a push', latest.data);
    } else if (latest) this.#groups.add(this.#group(latest.data));
    for (const [key, value] of Object.entries(latest?.data ?? {})) {
      if (previous?.data[key] !== value) this.#stored.set(String(value), this.#sequence);
      if (isOurs) this.#agreed.set(key, this.#stored.get(String(value)) ?? 0);
    }
  }

  /** The store was put back: what was covered since is lost with it, and its old values are old. */
  restored(after: KvKey): void {
    this.#unreported.clear();
    this.#hidden.clear();
    const latest = after.versions.get(after.current);
    this.#isEmpty.store = Object.keys(latest?.data ?? {}).length === 0;
  }

  /** The daemon makes a commit of what it read. */
  pulled(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): void {
    const isHeld = this.#policy.conflict === 'Hold' && this.#policy.adopt === 'Hold';
    if (!mayPull(this.#policy)) this.problems.push('a pull, and nothing is to be pulled');
    const isEmptied = before.size > 0 && after.size === 0 && this.#isEmpty.store;
    if (isEmptied && this.#policy.deletionInStore === 'Retain') {
      this.problems.push('a pull left nothing in git, where deletions are retained');
    }
    for (const [key, value] of before) {
      if (isHeld && after.get(key) !== value && !this.#stored.has(value)) {
        this.problems.push(`a pull replaced ${key}=${value}, which the store never had`);
      }
    }
    for (const [key, value] of after) {
      if (before.get(key) === value) continue;
      const sequence = this.#stored.get(value) ?? 0;
      if (sequence < (this.#agreed.get(key) ?? 0)) {
        this.problems.push(`git went back to ${key}=${value}`);
      }
      this.#agreed.set(key, sequence);
    }
    this.#judgeGroup('a pull', Object.fromEntries(after));
    for (const value of after.values()) this.#gitHas(value);
    this.#isEmpty.git = after.size === 0;
  }

  /** The daemon removes the object from git. */
  removed(before: ReadonlyMap<string, string>, live: Values | undefined): void {
    if (this.#policy.deletionInStore === 'Retain') {
      this.problems.push('the object was removed, where deletions are retained');
    }
    if (live !== undefined) this.problems.push('the object was removed, and the store has it');
    for (const [key, value] of before) {
      if (!this.#stored.has(value)) this.problems.push(`${key}=${value} was removed, unseen`);
    }
  }

  /** A condition named these versions. */
  reported(versions: readonly StoreVersion[]): void {
    for (const version of versions) this.#unreported.delete(idOf(version));
  }

  /** The object is gone from git, and what was remembered of it with it. */
  forgotten(): void {
    this.#unreported.clear();
    this.#agreed.clear();
    this.#gitHad.clear();
  }

  /** A person looked at both sides and may bring back what is older. */
  shown(store: Values, git: ReadonlyMap<string, string>): void {
    for (const value of Object.values(store)) this.#safe.add(String(value));
    for (const value of git.values()) this.#stored.set(value, this.#stored.get(value) ?? 0);
    this.#agreed.clear();
  }

  /**
   * A conflict is one unless the history of one side, and not of the other, has the other's value.
   * Of the store only what can still be read counts.
   */
  conflict(git: unknown, store: unknown, key: KvKey): void {
    if (git === undefined || store === undefined) return;
    const kept = [...key.versions.values()].filter(isReadable);
    const storeHad = kept.some(({ data }) => Object.values(data).includes(git));
    if (this.#gitHad.has(String(store)) !== storeHad) {
      this.problems.push(`no conflict: git ${git}, store ${store}`);
    }
  }

  /** Between a deletion and its taking back: the value is hidden, and can be restored by hand. */
  died(): void {
    this.#hidden.clear();
  }

  end(): void {
    for (const what of [...this.#unreported.values(), ...this.#hidden.values()]) {
      this.problems.push(`${what}, and nobody was told`);
    }
  }

  /**
   * What a push replaces was in git before, or a person was shown it, or it has to be reported. That
   * the daemon read it once does not help: its decision may come from what it read at another time.
   */
  #judgePush(
    { before, state }: { before?: KvKey; state: SyncState },
    previous: KvVersion,
    latest: KvVersion,
  ): void {
    if (!mayPush(this.#policy)) this.problems.push('a push, and nothing is to be pushed');
    const { deletionInGit, conflict, adopt } = this.#policy;
    const wasEmpty = Object.keys(previous.data).length === 0;
    const isEmptied = !wasEmpty && this.#isEmpty.store && this.#isEmpty.git;
    if (isEmptied && deletionInGit === 'Retain') {
      this.problems.push('a push left nothing in the store, where deletions are retained');
    }
    // What loses against a preference stays readable in the store.
    if (conflict === 'PreferGit' || adopt === 'PreferGit') return;
    const version = { version: before?.current ?? 0, createdTime: previous.created };
    const lost = this.#unsafe(previous.data, latest.data);
    if (lost === '') return;
    this.#cover(version, `a push replaced ${lost}`);
    const { seen, intents } = state;
    const wasDeleted = intents.at(-1)?.predecessor.isDeleted === true;
    if (!wasDeleted && seen !== undefined && idOf(seen) === idOf(version)) {
      this.problems.push(`a push replaced ${lost}, which was held`);
    }
  }

  #gitHas(value: string): void {
    this.#safe.add(value);
    this.#gitHad.add(value);
  }

  #judgeDeletion(before: KvKey | undefined, after: KvKey): void {
    if (this.#policy.deletionInGit === 'Retain') {
      this.problems.push('the store was told to delete, where deletions are retained');
    }
    for (const [number, { deletion, created, data }] of after.versions) {
      if (deletion === '' || before?.versions.get(number)?.deletion !== '') continue;
      const lost = this.#unsafe(data, {});
      const version = { version: number, createdTime: created };
      if (lost !== '') this.#hidden.set(idOf(version), `a deletion hid ${lost}`);
    }
  }

  #cover(version: StoreVersion, what: string): void {
    this.covered += 1;
    this.#unreported.set(idOf(version), what);
  }

  #unsafe(before: Values, after: Values): string {
    return Object.entries(before)
      .filter(([key, value]) => after[key] !== value && !this.#safe.has(String(value)))
      .map(([key, value]) => `${key}=${value}`)
      .join(' ');
  }

  #judgeGroup(what: string, values: Values): void {
    const group = this.#group(values);
    if (!this.#groups.has(group)) this.problems.push(`${what} put together ${group}`);
  }

  #group(values: Values): string {
    const { merge } = this.#policy;
    if (merge === 'keys') return '';
    const names = merge === 'object' ? Object.keys(values).sort() : (merge[0] ?? []);
    return names.map((name) => `${name}=${values[name]}`).join(' ');
  }
}

function isReadable({ deletion, destroyed }: KvVersion): boolean {
  return deletion === '' && !destroyed;
}

function idOf({ version, createdTime }: StoreVersion): string {
  const [whole = '', fraction = ''] = createdTime.replace('Z', '').split('.');
  return `${version} ${whole}.${fraction.padEnd(9, '0')}`;
}
