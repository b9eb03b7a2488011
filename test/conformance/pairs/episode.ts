/**
 * Requests of one episode: a dozen or two about two objects of one kind, in a namespace of their own or
 * with a label of their own, so that a difference reaches no further than its episode.
 */
import type { Random } from '../../support/random.ts';
import { APPLY, JSON_PATCH, MERGE } from '../api/case.ts';
import type { Asked } from '../api/target.ts';
import { type Body, groupPath, PROFILES, type Profile } from './objects.ts';
import { drawAccept, drawQuery, drawType, type QueryOf } from './queries.ts';
import { ODD_OBJECTS, SPOILED_OBJECTS, SPOILED_TEXTS, withAt } from './spoil.ts';

export interface Episode {
  /** Exists before the first request. */
  readonly namespace: string;
  readonly requests: Iterable<Asked>;
}

type Query = Readonly<Record<string, string>>;

const STRATEGIC = 'application/strategic-merge-patch+json';
const NAMES = ['one', 'two'];
const STEPS = 25;
const WATCHING = { watch: 'true', timeoutSeconds: '1' };
const LIST_FORMS = ['Table', 'PartialObjectMetadataList'];
const STRICT = { fieldValidation: 'Strict' };

export function drawEpisode(random: Random, number: number): Episode {
  const profile = random.pick(PROFILES);
  const namespace = `fuzz-${number}`;
  return {
    namespace,
    requests: new Writer(random, profile, number).requests(),
  };
}

/** Draws requests about the objects of one kind. */
class Writer {
  readonly #random: Random;
  readonly #profile: Profile;
  readonly #collection: string;
  readonly #names: readonly string[];
  readonly #number: string;
  /** Selects the objects of the episode where its namespace does not. */
  readonly #label: string;

  constructor(random: Random, profile: Profile, number: number) {
    this.#random = random;
    this.#profile = profile;
    const place = profile.namespaced ? `/namespaces/fuzz-${number}` : '';
    this.#collection = `${groupPath(profile)}${place}/${profile.plural}`;
    this.#names = NAMES.map((name) => `${name}-${number}`);
    this.#number = String(number);
    this.#label = profile.namespaced ? '' : `episode=${number}`;
  }

  *requests(): Iterable<Asked> {
    // Something is there to read from the first request on.
    yield this.#create(this.#good(this.#names[0] ?? ''));
    for (let step = 1; step < STEPS; step++) {
      const asked = this.#step();
      yield asked;
      // Each server says the same then and has it done in its own way.
      if (asked.method === 'DELETE' && asked.path.split('?')[0] === this.#collection) return;
    }
  }

  #step(): Asked {
    const name = this.#random.pick(this.#names);
    const path = `${this.#collection}/${name}`;
    return weighted<Asked>(this.#random, [
      [3, () => this.#create(this.#body(name))],
      [2, () => this.#read('GET', path, 'get')],
      [3, () => this.#read('GET', this.#collection, 'list')],
      [1, () => this.#read('GET', this.#collection, 'watch', WATCHING)],
      [3, () => this.#write('PUT', path, this.#put(name))],
      [2, () => this.#oddly(name, path)],
      [3, () => this.#patch(path, MERGE, this.#merge(name))],
      [3, () => this.#patch(path, JSON_PATCH, this.#operations())],
      [1, () => this.#patch(path, STRATEGIC, this.#merge(name))],
      [3, () => this.#apply(path, this.#applied(name))],
      [2, () => this.#delete(path)],
      [1, () => this.#deleteAll()],
      [1, () => this.#odd(path, name)],
    ]);
  }

  #good(name: string): Body {
    const { apiVersion, kind, content } = this.#profile;
    const labels = { a: this.#random.pick(['b', 'c']), episode: this.#number };
    return { apiVersion, kind, metadata: { name, labels }, ...content(this.#random) };
  }

  /** Good more often than not. */
  #body(name: string): unknown {
    return this.#spoiled(this.#good(name));
  }

  #spoiled(good: Body): unknown {
    const random = this.#random;
    if (random.chance(0.55)) return good;
    const ways = random.chance(0.15) ? SPOILED_TEXTS : SPOILED_OBJECTS;
    return random.pick(ways)(good, random, this.#profile);
  }

  #create(body: unknown): Asked {
    // The name that each server makes would order lists in another way.
    const dry = hasGeneratedName(body) ? { dryRun: 'All' } : {};
    return this.#write('POST', this.#collection, body, dry);
  }

  #oddly(name: string, path: string): Asked {
    const random = this.#random;
    const odd = random.pick(ODD_OBJECTS)(this.#good(name), random, this.#profile) as Body;
    const metadata = { ...odd.metadata, resourceVersion: `{version:${name}}` };
    return weighted<Asked>(random, [
      [1, () => this.#create(odd)],
      [1, () => this.#write('PUT', path, { ...odd, metadata })],
      [1, () => this.#apply(path, odd)],
      [0.5, () => this.#apply(path, `${JSON.stringify(this.#good(name))}{}`)],
      [0.5, () => this.#emptyList()],
    ]);
  }

  #emptyList(): Asked {
    const accept = `application/json;as=${this.#random.pick(LIST_FORMS)};v=v1;g=meta.k8s.io`;
    return { method: 'GET', path: `${this.#collection}?labelSelector=nobody`, accept };
  }

  #put(name: string): unknown {
    const good = this.#good(name);
    const versioned = { ...good.metadata, resourceVersion: `{version:${name}}` };
    return this.#spoiled(this.#random.chance(0.8) ? { ...good, metadata: versioned } : good);
  }

  #write(method: string, path: string, body: unknown, usual: Query = {}): Asked {
    const random = this.#random;
    const type = drawType(random, 'application/json');
    const query = this.#query('write', usual);
    return { method, path: `${path}${query}`, body, type, ...drawAccept(random) };
  }

  #query(of: QueryOf, usual: Query = {}): string {
    const isWrite = of === 'write' || of === 'apply';
    const strict = isWrite && this.#random.chance(0.95) ? STRICT : {};
    return drawQuery(this.#random, of, { usual: { ...strict, ...usual } });
  }

  #read(method: string, path: string, of: QueryOf, usual: Query = {}): Asked {
    const query = drawQuery(this.#random, of, of === 'get' ? {} : { usual, label: this.#label });
    return { method, path: `${path}${query}`, ...drawAccept(this.#random) };
  }

  #patch(path: string, type: string, body: unknown): Asked {
    return {
      method: 'PATCH',
      path: `${path}${this.#query('write')}`,
      body,
      type: drawType(this.#random, type),
      ...drawAccept(this.#random),
    };
  }

  #merge(name: string): unknown {
    const random = this.#random;
    const { path, values } = random.pick(this.#profile.fields);
    return weighted<unknown>(random, [
      [6, () => withAt({}, path, random.pick(values))],
      [2, () => withAt({}, path, null)],
      [2, () => ({ metadata: { labels: random.pick([{ c: 'd' }, { a: null }, { 'a b': 'c' }]) } })],
      [1, () => ({ metadata: { finalizers: random.pick([['example.com/hold'], [], null]) } })],
      [1, () => ({ metadata: { resourceVersion: `{version:${name}}` } })],
      [3, () => random.pick(SPOILED_OBJECTS)({ metadata: {} }, random, this.#profile)],
      [1, () => random.pick(SPOILED_TEXTS)({ metadata: {} }, random, this.#profile)],
      [
        1,
        () => ({ ...withAt({}, path, random.pick(values)), $patch: random.pick(['replace', 'x']) }),
      ],
    ]);
  }

  #operations(): unknown {
    const random = this.#random;
    if (random.chance(0.1)) return random.pick(SPOILED_TEXTS)([], random, this.#profile);
    return Array.from({ length: 1 + random.below(2) }, () => this.#operation());
  }

  #operation(): unknown {
    const random = this.#random;
    const { path, values } = random.pick(this.#profile.fields);
    const field = `/${path.join('/')}`;
    const others = [
      '/metadata/labels/c',
      '/metadata/name',
      '/kind',
      '/x/y',
      '',
      'x',
      '/spec/users/-',
    ];
    const at = random.chance(0.7)
      ? field
      : random.pick([...others, '/metadata/finalizers', '/spec/']);
    const value = random.chance(0.8) ? random.pick(values) : random.pick([1, 'x', null, [], {}]);
    const from = random.pick([field, '/metadata/labels', '/metadata/labels/a', '/none']);
    return weighted<unknown>(random, [
      [3, () => ({ op: 'add', path: at, value })],
      [3, () => ({ op: 'replace', path: at, value })],
      [2, () => ({ op: 'remove', path: at })],
      [1, () => ({ op: 'test', path: at, value })],
      [1, () => ({ op: 'copy', from, path: at })],
      [1, () => ({ op: 'move', from, path: at })],
      [
        1,
        () =>
          random.pick([{ op: 'guess', path: at }, { path: at }, { op: 'add', path: at }, 1, null]),
      ],
    ]);
  }

  #apply(path: string, body: unknown): Asked {
    const random = this.#random;
    return {
      method: 'PATCH',
      path: `${path}${this.#query('apply')}`,
      body,
      type: drawType(random, APPLY),
      ...drawAccept(random),
    };
  }

  #applied(name: string): unknown {
    const random = this.#random;
    const good = this.#good(name);
    const { path, values } = random.pick(this.#profile.fields);
    if (random.chance(0.05)) return withAt(good, ['metadata', 'resourceVersion'], '1');
    return random.chance(0.4) ? withAt(good, path, random.pick(values)) : this.#spoiled(good);
  }

  #delete(path: string): Asked {
    const random = this.#random;
    const query = this.#query('delete');
    const accept = drawAccept(random);
    if (random.chance(0.6)) return { method: 'DELETE', path: `${path}${query}`, ...accept };
    const body = random.pick<unknown>([
      {},
      { preconditions: { uid: '00000000-0000-4000-8000-000000000000' } },
      { preconditions: { resourceVersion: '1' } },
      { preconditions: { uid: 1 } },
      { propagationPolicy: 'Foreground' },
      { propagationPolicy: 'x' },
      { gracePeriodSeconds: 0 },
      { gracePeriodSeconds: -1 },
      { dryRun: ['All'] },
      { dryRun: ['x'] },
      { dryRun: 'All' },
      { orphanDependents: true },
      { orphanDependents: true, propagationPolicy: 'Orphan' },
      { kind: 'DeleteOptions', apiVersion: 'v1' },
      { kind: 'Team', apiVersion: 'v1' },
      { kind: 'DeleteOptions', apiVersion: 'v9' },
      { unknown: 1 },
      'x',
      '[]',
      '',
    ]);
    const type = drawType(random, 'application/json');
    return { method: 'DELETE', path: `${path}${query}`, body, type, ...accept };
  }

  #deleteAll(): Asked {
    const query = drawQuery(this.#random, 'delete', { label: this.#label });
    return { method: 'DELETE', path: `${this.#collection}${query}` };
  }

  /** Methods and paths that the kind does not have, and subresources. */
  #odd(path: string, name: string): Asked {
    const random = this.#random;
    const body = this.#good(name);
    return random.pick<Asked>([
      { method: 'POST', path, body },
      { method: 'PUT', path: this.#collection, body },
      { method: 'PATCH', path: this.#collection, body: {}, type: MERGE },
      { method: 'HEAD', path },
      { method: 'OPTIONS', path },
      { method: 'GET', path: `${path}/` },
      {
        method: 'GET',
        path: `${this.#collection}/${drawQuery(random, 'get', { label: this.#label })}`,
      },
      { method: 'GET', path: `${path}/scale` },
      { method: 'GET', path: `${path}/status` },
      { method: 'PUT', path: `${path}/status`, body },
      { method: 'GET', path: `${path}/unknown` },
      { method: 'GET', path: `${this.#collection}/Upper_Case` },
      { method: 'GET', path: path.replace('-', '%2D') },
      { method: 'GET', path: path.replace(/\/([^/]*)$/, '//$1') },
      { method: 'GET', path, token: 'wrong' },
      { method: 'GET', path: this.#collection, token: null },
    ]);
  }
}

function hasGeneratedName(body: unknown): boolean {
  return typeof body === 'object' && JSON.stringify(body).includes('"generateName"');
}

/** Calls one of the choices, the more often the larger its weight. */
export function weighted<T>(
  random: Random,
  choices: readonly (readonly [weight: number, choose: () => T])[],
): T {
  let left = random.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, choose] of choices) {
    left -= weight;
    if (left < 0) return choose();
  }
  throw new RangeError('no choice has a weight');
}
