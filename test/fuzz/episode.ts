/**
 * One run of a daemon with people of random rights. Every step is drawn from the seed and its number
 * alone, so that a run can be repeated with some of its steps left out.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { HttpClient, type Reply, type Sent } from './http-client.ts';
import { describe, Judge, type Road, type Target } from './judge.ts';
import { leaksInAnswer, leaksInFile } from './leaks.ts';
import { type Move, RepositoryWatch } from './repository-watch.ts';
import { MANAGEMENT, type Obj, RBAC, type Rights, type Scope } from './rights-model.ts';
import { TraceSource, tracesIn } from './traces.ts';
import {
  NAMES,
  NAMESPACES,
  PEOPLE,
  pickContent,
  pickPusher,
  pickRule,
  pickScope,
} from './wishes.ts';
import {
  changesBetween,
  type HeldKey,
  KINDS,
  type Life,
  type Person,
  pathOf,
  World,
} from './world.ts';

/** A request of a person, and what the oracle has to know of it. */
export interface Act {
  readonly person: Person;
  readonly key: HeldKey;
  readonly label: string;
  /** Object that it reads or writes; undefined: nothing of any object may be shown. */
  readonly target?: Target;
  /** The verb of a read, or the first one of a write. */
  readonly verb: string;
  /** Undefined: it may change nothing. */
  readonly road?: Road;
  readonly sent: string;
  send(): Promise<Reply>;
}

export interface Outcome {
  readonly label: string;
  readonly code: number;
  readonly findings: readonly string[];
  readonly changed: string;
  /** Refused, although the oracle sees the right. */
  readonly isSurprise: boolean;
}

const LOOK_EVERYWHERE_EVERY = 100;
const END_MS = 30_000;
export const NO_BUDGET = ['--prune-budget-objects', '100000', '--prune-budget-percent', '100'];

export class Episode {
  daemon: Daemon;
  readonly client: HttpClient;
  readonly world: World;
  /** The branch that people and the API write to. */
  readonly repository: RepositoryWatch;
  readonly judge: Judge;
  readonly traces = new TraceSource(randomBytes(6).toString('hex'));
  readonly people: Person[] = [];
  readonly seed: number;
  /** What `.sops.yaml` says, commit by commit. */
  recipients: string[] = [];
  #steps = 0;
  #strangers = 0;
  #logRead = 0;
  #auditRead = 0;

  protected constructor(daemon: Daemon, seed: number, repository?: RepositoryWatch) {
    this.daemon = daemon;
    this.seed = seed;
    this.client = new HttpClient(daemon);
    this.world = new World(this.client, daemon.token);
    this.world.tokens.add(daemon.token);
    this.repository = repository ?? new RepositoryWatch(join(daemon.dataDir, 'repo.git'));
    this.judge = new Judge(this.world, { namespaces: NAMESPACES, names: NAMES });
  }

  static async begin(seed: number): Promise<Episode> {
    const episode = new Episode(await startDaemon({ seed: undefined, args: NO_BUDGET }), seed);
    await episode.furnish(randomFrom(seed));
    return episode;
  }

  protected continueWith(daemon: Daemon): void {
    this.daemon = daemon;
    this.client.moveTo(daemon);
    this.#logRead = 0;
  }

  async end(): Promise<void> {
    this.repository.close();
    this.client.close();
    const late = setTimeout(() => this.daemon.process.kill('SIGKILL'), END_MS);
    await this.daemon.stop();
    clearTimeout(late);
    rmSync(this.daemon.dataDir, { recursive: true, force: true });
  }

  /** A source of numbers for one step, whatever came before it. */
  random(step: number): Random {
    return randomFrom(Math.imul(this.seed ^ 0x9e3779b9, 31) + Math.imul(step + 1, 0x85ebca6b));
  }

  protected async furnish(random: Random): Promise<void> {
    const bossRules = [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ];
    await this.#give('config', 'platform', { spec: { raw: AUDIT } }, MANAGEMENT);
    for (const name of [...PEOPLE, 'boss']) await this.#person(name);
    for (const name of ['t0', 't1']) {
      const users = PEOPLE.filter(() => random.chance(0.4));
      await this.#give('teams', name, { spec: { displayName: this.traces.mark(), users } });
    }
    await this.#bound('boss', bossRules);
    for (const name of PEOPLE) {
      const rules = Array.from({ length: 4 + random.below(7) }, () => pickRule(random));
      if (random.chance(0.7)) rules.push(...pickPusher(random));
      if (random.chance(0.6)) rules.push(MAKES_KEYS);
      await this.#bound(name, rules);
      await this.#key(name, name);
      await this.#key(name, `${name}-scoped`, pickScope(random));
    }
    await this.#key('boss', 'boss');
    await this.#key('boss', 'boss-scoped', pickScope(random));
    for (const namespace of NAMESPACES) {
      const wisher = { random, traces: this.traces, self: random.pick(PEOPLE) };
      const content = pickContent(wisher, 'sharedsecrets');
      await this.#give('sharedsecrets', 's0', content, MANAGEMENT, namespace);
    }
    await this.observe();
  }

  async #person(name: string): Promise<void> {
    await this.#give('users', name, { spec: { displayName: this.traces.mark() } });
    const identity = await generateX25519Identity();
    const recipient = await identityToRecipient(identity);
    this.people.push({ name, keys: [], identity, recipient, dataKeys: [], opened: new Set() });
  }

  async #bound(name: string, rules: readonly object[]): Promise<void> {
    await this.#give('clusterroles', name, { rules }, RBAC);
    const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name };
    const subjects = [{ apiGroup: RBAC, kind: 'User', name }];
    await this.#give('clusterrolebindings', name, { roleRef, subjects }, RBAC);
  }

  async #key(user: string, name: string, scope?: Scope): Promise<void> {
    const spec = { user, ...(scope === undefined ? {} : { scope }) };
    const made = JSON.parse(await this.#give('ownedaccesskeys', name, { spec })) as {
      spec: { key: string };
    };
    const person = this.people.find((one) => one.name === user);
    const text = made.spec.key;
    person?.keys.push({ name, text });
    this.world.tokens.add(text);
  }

  async #give(
    plural: string,
    name: string,
    content: object,
    group = MANAGEMENT,
    namespace = '',
  ): Promise<string> {
    const kind = KINDS[plural]?.kind ?? 'Config';
    const path =
      plural === 'config'
        ? `${pathOf('teams').replace(/teams$/, 'config')}`
        : pathOf(plural, namespace);
    const body = { apiVersion: `${group}/v1`, kind, metadata: { name }, ...content };
    const { code, text } = await this.client.call('POST', path, { token: this.world.admin, body });
    if (code !== 201) throw new Error(`The administrator cannot make ${plural}/${name}: ${text}`);
    return text;
  }

  /** Sees what the repository and the objects have become, without judging it. */
  async observe(): Promise<void> {
    const move = await this.#follow();
    this.world.apply(await this.world.fetch(), this.repository.keyHashes());
    await this.leaksIn(move, undefined);
  }

  /** Carries out one request and judges it. */
  async act(act: Act): Promise<Outcome> {
    const { person, key } = act;
    for (const canary of tracesIn(act.sent).canaries) {
      const senders = this.world.senders.get(canary) ?? new Set();
      this.world.senders.set(canary, senders.add(person.name));
    }
    const before = this.world.rightsOf(key);
    const there = [...this.world.objects.values()].map(({ metadata }) => metadata.uid);
    const live = new Set([...there, ...this.world.waiting.values()]);
    const reply = await act.send();
    const findings: string[] = [];
    const changed = await this.settle(act, reply, findings);
    const made = this.#newKey(act, reply, findings);
    if (before === undefined && reply.code < 300 && act.road?.by !== 'remote') {
      findings.push(`a key that does not work is answered: ${this.#whyDead(key)}`);
    }
    const wasLive = ({ uid }: Life): boolean => live.has(uid);
    const reader = { before, after: this.world.rightsOf(key), wasLive };
    const { target, verb, sent } = act;
    const text = made === undefined ? reply.text : reply.text.replaceAll(made.text, '');
    findings.push(
      ...leaksInAnswer(this.world, reader, { code: reply.code, text, sent, verb, target }),
    );
    this.#steps++;
    if (this.#steps % LOOK_EVERYWHERE_EVERY === 0) findings.push(...(await this.lookEverywhere()));
    return {
      label: `${person.name}/${key.name} ${act.label}`,
      code: reply.code,
      findings,
      changed,
      isSurprise: reply.code === 403 && isHeld(before, act),
    };
  }

  #whyDead(key: HeldKey): string {
    const object = this.world.objectOf(key);
    if (object === undefined) return 'no key has its text';
    if (object.spec?.disabled === true) return 'it is disabled';
    return this.world.isOrphan(object)
      ? 'its owner is not the one that it was made for'
      : 'its owner is shut out';
  }

  /** Sees and judges what a request changed, and says it in words. */
  protected async settle(act: Act, { code }: Reply, findings: string[]): Promise<string> {
    const head = this.repository.newest();
    // A deletion that ends is in no commit.
    const isWrite = act.road !== undefined && code < 300;
    const hasMoved = head !== this.repository.head;
    return hasMoved || isWrite ? await this.#moved(act, findings) : '';
  }

  async #moved(act: Act, findings: string[]): Promise<string> {
    const recipients = this.recipients;
    const move = await this.#follow();
    const next = await this.world.fetch();
    const changes = this.world.diff(next);
    // First what was judged by the rights of before.
    const { key, road } = act;
    const changed = { changes, steers: move.steers };
    if (road === undefined)
      findings.push(`changed ${describe(changes)} by a request that writes nothing`);
    else if (changes.length > 0 || move.steers) {
      findings.push(...this.judge.changes(key, road, changed));
    }
    findings.push(...this.judge.grants(key, changes, next));
    findings.push(...this.judge.keysWritten(key, changes));
    findings.push(...this.judge.revived(key, changes));
    findings.push(...this.judge.brought(act.person.name, key, changes));
    const replaced = this.world.ownersReplaced(next);
    for (const commit of move.inner) {
      const past = await this.world.fetch(commit);
      for (const { id, from, to } of replaced) {
        const born = this.world.bornAt(from);
        if (born === undefined || past.get(id)?.metadata.uid !== to) continue;
        // A life that began after the other one in its own line of history has its own keys alone.
        const isLater = await this.repository.isAncestor(born, commit);
        if (!isLater) this.world.join(from, to);
      }
      const brought = changesBetween(this.world.objects, past);
      findings.push(...this.judge.brought(act.person.name, key, brought));
      this.world.applyPast(past);
    }
    const scopes = this.world.rightsOf(key)?.identity.scopes ?? [];
    for (const { plural, before, after } of changes) {
      if (plural !== 'ownedaccesskeys' || after === undefined) continue;
      const isSame = JSON.stringify(before?.spec) === JSON.stringify(after.spec);
      if (!isSame) this.world.lineage.set(after.metadata.uid, scopes);
    }
    this.world.apply(next, this.repository.keyHashes());
    findings.push(...(await this.leaksIn(move, road, recipients)));
    return describe(changes);
  }

  async #follow(): Promise<Move> {
    const move = await this.repository.follow(this.repository.newest());
    this.world.commits.push(this.repository.head);
    this.world.times.push(new Date().toISOString());
    this.recipients = recipientsIn((await this.repository.file('.sops.yaml')) ?? '');
    return move;
  }

  protected async leaksIn(
    { files, commits }: Move,
    road: Road | undefined,
    recipients: readonly string[] = [],
  ): Promise<string[]> {
    const findings: string[] = [];
    const known = { recipients: [...this.recipients, ...recipients] };
    for (const { path, text } of files) {
      if (text === undefined) continue;
      findings.push(...(await leaksInFile(this.world, this.people, { path, text, ...known })));
      if (road?.by === 'api') findings.push(...strangersIn(path, text, this.recipients));
    }
    for (const commit of commits) {
      const { canaries, tokens } = tracesIn(commit);
      if (canaries.size > 0) findings.push('a commit message has a value');
      if ([...tokens].some((token) => this.world.tokens.has(token)))
        findings.push('a commit has a key');
    }
    return findings;
  }

  /** True if a key was made, and not in a dry run. */
  protected isThere(key: string): boolean {
    return this.world.find('ownedaccesskeys', '', key) !== undefined;
  }

  /** A key that the request made goes to who asked for it. */
  #newKey({ person, target }: Act, { code, text }: Reply, findings: string[]): HeldKey | undefined {
    if (code !== 201 || target?.plural !== 'ownedaccesskeys') return undefined;
    const made = jsonOf(text);
    const token = made?.spec?.key;
    if (made === undefined || token === undefined || !token.startsWith('gp')) return undefined;
    const { name } = made.metadata;
    const held: HeldKey = { name, text: token };
    if (this.world.tokens.has(token)) findings.push('a key was handed out twice');
    this.world.tokens.add(token);
    if (this.isThere(name)) person.keys.push(held);
    return held;
  }

  /** The whole platform, its logs, metrics and audit log: nothing changed unseen, nothing is shown. */
  async lookEverywhere(): Promise<string[]> {
    const unseen = this.world.diff(await this.world.fetch());
    const findings = unseen.length === 0 ? [] : [`${describe(unseen)} without a commit`];
    const log = this.daemon.output();
    findings.push(...this.#leaksInText('the log', log.slice(this.#logRead)));
    this.#logRead = log.length;
    findings.push(...this.#leaksInText('the audit log', this.#newAuditText()));
    const metrics = await this.client.call('GET', '/metrics', { token: this.world.admin });
    findings.push(...this.#leaksInText('the metrics', metrics.text));
    return findings;
  }

  #leaksInText(place: string, text: string): string[] {
    const { canaries, tokens } = tracesIn(text);
    const known = [...tokens].filter((token) => this.world.tokens.has(token));
    return canaries.size + known.length === 0 ? [] : [`${place} has a value or a key`];
  }

  #newAuditText(): string {
    const path = join(this.daemon.dataDir, 'audit.log');
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size <= this.#auditRead) return '';
    const bytes = Buffer.alloc(size - this.#auditRead);
    const file = openSync(path, 'r');
    readSync(file, bytes, 0, bytes.length, this.#auditRead);
    closeSync(file);
    this.#auditRead = size;
    return bytes.toString('utf8');
  }

  send(method: string, path: string, key: HeldKey, sent: Sent = {}): Promise<Reply> {
    const from = this.addressOf(key);
    return this.client.call(method, path, { ...sent, token: key.text, ...(from && { from }) });
  }

  /** Keys that do not work come from addresses of their own, or nobody signs in from theirs any more. */
  addressOf(key: HeldKey): string | undefined {
    if (this.world.rightsOf(key) !== undefined) return undefined;
    const next = ++this.#strangers;
    return `127.1.${next >> 8}.${next & 255}`;
  }
}

const MAKES_KEYS = {
  apiGroups: [MANAGEMENT],
  resources: ['ownedaccesskeys', 'directclusterendpointtokens'],
  verbs: ['create'],
};

const AUDIT = `audit:
  enabled: true
  path: audit.log
  maxSize: 1000
  policy:
    rules:
      - level: RequestResponse
`;

interface MadeKey {
  readonly metadata: Obj['metadata'];
  readonly spec?: { readonly key?: string };
}

function jsonOf(text: string): MadeKey | undefined {
  try {
    return JSON.parse(text) as MadeKey;
  } catch {
    return undefined;
  }
}

function isHeld(rights: Rights | undefined, { verb, target, road }: Act): boolean {
  const isRead = road === undefined && ['get', 'list', 'watch'].includes(verb);
  if (rights === undefined || target === undefined || !isRead) return false;
  const group = KINDS[target.plural]?.group ?? '';
  return rights.allows({ verb, group, resource: target.plural, ...target });
}

export function recipientsIn(text: string): string[] {
  return [...new Set(text.match(/age1[0-9a-z]+/g) ?? [])];
}

/** What the daemon seals is for those of `.sops.yaml` and nobody else. */
function strangersIn(path: string, text: string, recipients: readonly string[]): string[] {
  const strangers = [...text.matchAll(/recipient: (age1[0-9a-z]+)/g)].flatMap(([, one = '']) =>
    recipients.includes(one) ? [] : [one],
  );
  return strangers.length === 0
    ? []
    : [`a write of the API sealed ${path} for ${strangers[0]}, whom .sops.yaml does not name`];
}
