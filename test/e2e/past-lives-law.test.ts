/**
 * A law with an oracle: names are made, changed, handed on, deleted and made again in a random order,
 * and read by random users over every road to an earlier state. No value of an object is ever in an
 * answer to a user who had no right on that object, or on every name.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { runs } from '../support/properties.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { type Watching, watching } from './watching.ts';

const SECRETS = `${API}/namespaces/vault/sharedsecrets`;
const GROUP = 'management.gitplane.dev';
const apiGroup = 'rbac.authorization.k8s.io';
const merge = 'application/merge-patch+json';
const NAMES = ['x', 'y', 'z'] as const;
/** They have no right but on what they own. */
const OWNERS = ['ann', 'ben'] as const;
/** Has a right on the name x by a role, whatever has that name. */
const BY_NAME = 'nia';
const EVERYTHING = 'eve';
const USERS = [...OWNERS, BY_NAME, EVERYTHING];
const ROUNDS = runs(4);
const SEED = Number(process.env['GITPLANE_TEST_SEED'] ?? 2026) || Date.now() % 1_000_000;

interface Value {
  readonly text: string;
  /** Users who had a right on the object at some time since it had the value. */
  readonly seers: Set<string>;
}

interface Life {
  readonly name: string;
  owner: string | undefined;
  readonly values: Value[];
}

let daemon: Daemon;
const keys: Record<string, string> = {};

async function person(name: string, rules: object[]): Promise<void> {
  const metadata = { name };
  const binding = {
    metadata,
    roleRef: { apiGroup, kind: 'ClusterRole', name },
    subjects: [{ apiGroup, kind: 'User', name }],
  };
  await daemon.call('POST', `${API}/users`, { body: { metadata, spec: {} } });
  await daemon.call('POST', `${RBAC}/clusterroles`, { body: { metadata, rules } });
  await daemon.call('POST', `${RBAC}/clusterrolebindings`, { body: binding });
  const body = { metadata, spec: { user: name } };
  keys[name] = (await daemon.call('POST', `${API}/ownedaccesskeys`, { body })).json().spec.key;
}

beforeAll(async () => {
  daemon = await startDaemon();
  const secrets = { apiGroups: [GROUP], resources: ['sharedsecrets', 'sharedsecrets/*'] };
  for (const name of OWNERS) await person(name, [{ ...secrets, verbs: ['create'] }]);
  const verbs = ['get', 'list', 'watch', 'update'];
  await person(BY_NAME, [{ ...secrets, verbs, resourceNames: ['x'] }]);
  await person(EVERYTHING, [{ ...secrets, verbs: ['*'] }]);
});

afterAll(async () => {
  await daemon.stop();
});

/** Events so far, and the readers of each value. */
class World {
  readonly living = new Map<string, Life>();
  readonly values: Value[] = [];
  readonly versions: string[] = [];
  readonly revisions: string[] = [];
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  async step(): Promise<void> {
    const name = this.#random.pick(NAMES);
    const life = this.living.get(name);
    const dice = this.#random.next();
    if (life === undefined) await this.#create(name);
    else if (dice < 0.4) await this.#remove(life);
    else if (dice < 0.8) await this.#change(life, {});
    else await this.#change(life, { owner: this.#anyOwner() });
  }

  mayNow(user: string, name: string): boolean {
    if (user === EVERYTHING || (user === BY_NAME && name === 'x')) return true;
    return this.living.get(name)?.owner === user;
  }

  #anyOwner(): string | undefined {
    return this.#random.pick([...OWNERS, undefined]);
  }

  async #create(name: string): Promise<void> {
    const life: Life = { name, owner: this.#anyOwner(), values: [] };
    this.living.set(name, life);
    const owner = life.owner === undefined ? {} : { owner: { user: life.owner } };
    const value = this.#value(life);
    const body = { metadata: { name, labels: { v: value } }, spec: { ...owner, data: { value } } };
    // An owner makes it himself: that is how a name is taken over.
    const token = life.owner === undefined ? daemon.token : (keys[life.owner] ?? '');
    await this.#write('POST', SECRETS, { body, token });
  }

  async #change(life: Life, to: { owner?: string | undefined }): Promise<void> {
    const isHandedOn = 'owner' in to;
    if (isHandedOn) this.#own(life, to.owner);
    const data = isHandedOn ? {} : { value: this.#value(life) };
    const owner = life.owner === undefined ? null : { user: life.owner };
    const labels = isHandedOn ? {} : { v: data.value };
    const body = { metadata: { labels }, spec: { owner, data } };
    await this.#write('PATCH', `${SECRETS}/${life.name}`, { body, type: merge });
  }

  async #remove(life: Life): Promise<void> {
    this.living.delete(life.name);
    await this.#write('DELETE', `${SECRETS}/${life.name}`, {});
  }

  #own(life: Life, owner: string | undefined): void {
    life.owner = owner;
    // As with git: the right on an object is a right on its past.
    for (const { seers } of life.values) if (owner !== undefined) seers.add(owner);
  }

  #value(life: Life): string {
    // Twelve letters and digits: base64 of them is a label as well.
    const digits = Array.from({ length: 11 }, () => this.#random.below(36).toString(36));
    const text = Buffer.from(`v${digits.join('')}`).toString('base64');
    const value = { text, seers: new Set<string>(life.name === 'x' ? [BY_NAME] : []) };
    life.values.push(value);
    this.values.push(value);
    this.#own(life, life.owner);
    return text;
  }

  async #write(
    method: string,
    path: string,
    options: Parameters<Daemon['call']>[2],
  ): Promise<void> {
    const answer = await daemon.call(method, path, options);
    expect([200, 201], answer.text).toContain(answer.code);
    this.revisions.push(String(answer.headers['gitplane-commit']));
    const list = await daemon.call('GET', SECRETS);
    this.versions.push(list.json().metadata.resourceVersion);
  }
}

function roadTo(world: World, random: Random): { method: string; path: string; body?: object } {
  const name = random.pick(NAMES);
  const version = random.pick(world.versions);
  const revision = random.pick(world.revisions);
  const named = `fieldSelector=metadata.name%3D${name}`;
  const label = random.chance(0.2) ? `&labelSelector=v%3D${random.pick(world.values).text}` : '';
  const at = (token: object): string => {
    const position = { v: 'meta.k8s.io/v1', start: 'vault/a\0', ...token };
    return Buffer.from(JSON.stringify(position)).toString('base64url');
  };
  const watch = `watch=1&timeoutSeconds=1&resourceVersion=${version}`;
  const path = random.pick([
    `${SECRETS}?${named}&resourceVersion=${version}&resourceVersionMatch=Exact${label}`,
    `${SECRETS}?${named}&resourceVersion=${version}&limit=1`,
    `${SECRETS}?${named}&continue=${at({ rv: Number(version) })}`,
    `${SECRETS}?${named}&atRevision=${revision}`,
    `${SECRETS}?${named}&atRevision=${revision}&continue=${at({ rv: -1, at: revision })}`,
    `${SECRETS}/${name}?atRevision=${revision}`,
    `${SECRETS}/${name}/history`,
    `${SECRETS}/${name}`,
    `${API}/sharedsecrets?${named}&resourceVersion=${version}&resourceVersionMatch=Exact`,
    `${SECRETS}?${watch}&${named}${label}`,
    `${SECRETS}?${watch}&${named}&allowWatchBookmarks=true`,
    `${API}/watch/namespaces/vault/sharedsecrets/${name}?${watch}`,
    `${SECRETS}?${watch}&${named}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
    `${API}/sharedsecrets?${watch}&${named}`,
  ]);
  if (!random.chance(0.05)) return { method: 'GET', path };
  return { method: 'POST', path: `${SECRETS}/${name}/rollback?dryRun=All`, body: { revision } };
}

/** Values in a text, in whatever form it is. */
function valuesIn(world: World, text: string): Value[] {
  return world.values.filter((value) => text.includes(value.text));
}

interface LiveWatch {
  readonly user: string;
  readonly from: number;
  readonly watch: Watching;
}

async function openWatch(world: World, random: Random): Promise<LiveWatch | undefined> {
  const user = random.pick(USERS);
  const name = random.pick(NAMES);
  if (!world.mayNow(user, name)) return undefined;
  const from = world.values.length;
  const version = world.versions.at(-1) ?? '0';
  const path = `${SECRETS}?watch=1&timeoutSeconds=20&fieldSelector=metadata.name%3D${name}&resourceVersion=${version}`;
  return { user, from, watch: await watching(daemon, path, { token: keys[user] ?? '' }) };
}

test(`no answer has a value of an object that its reader had no right on (seed ${SEED})`, async () => {
  const random = randomFrom(SEED);
  const world = new World(random);
  let shown = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const watches: LiveWatch[] = [];
    for (let step = 0; step < 20; step++) {
      await world.step();
      const watch = random.chance(0.3) ? await openWatch(world, random) : undefined;
      if (watch !== undefined) watches.push(watch);
    }
    const reads = Array.from({ length: 120 }, async () => {
      const user = random.pick(USERS);
      const { method, path, body } = roadTo(world, random);
      const more = body === undefined ? {} : { body };
      const { text } = await daemon.call(method, path, { token: keys[user] ?? '', ...more });
      return { user, path, text };
    });
    for (const { user, path, text } of await Promise.all(reads)) {
      if (user === EVERYTHING) continue;
      // Nothing changes while they read: a right is one on what has the name now.
      const mine = [...world.living.values()].filter(({ name }) => world.mayNow(user, name));
      const allowed = new Set(mine.flatMap(({ values }) => values));
      const found = valuesIn(world, text).filter((value) => !allowed.has(value));
      expect(found, `${user}: ${path}`).toEqual([]);
      shown += valuesIn(world, text).length;
    }
    for (const { user, watch } of watches) {
      watch.close();
      if (user === EVERYTHING) continue;
      const found = valuesIn(world, JSON.stringify(watch.events));
      const others = found.filter(({ seers }) => !seers.has(user));
      expect(others, `${user} watches: ${JSON.stringify(watch.events)}`).toEqual([]);
      shown += found.length;
    }
  }
  // The law would hold of a server that shows nothing.
  expect(shown).toBeGreaterThan(50);
});
