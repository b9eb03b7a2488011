/** Objects whose owners are gone follow them, in the ways in which a deletion may ask for it. */
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { KubeObject, OwnerReference } from '../../src/apimachinery/object.ts';
import { EventRing } from '../../src/apimachinery/object-events.ts';
import { GarbageCollector } from '../../src/controllers/garbage/collector.ts';
import { RBAC_GROUP } from '../../src/kinds/kind.ts';
import { ReadableStore } from '../../src/registry/projection/readable-store.ts';
import { Registry } from '../../src/registry/registry.ts';
import type { PropagationPolicy } from '../../src/registry/writes/delete.ts';
import { git } from '../support/git.ts';
import {
  kindOf,
  kinds,
  openTestPlatform,
  type TestPlatform,
  team,
  writeOptions,
} from '../support/platform.ts';
import { runs } from '../support/properties.ts';

const MANAGEMENT = 'management.gitplane.dev/v1';

/** A platform whose garbage is collected; `stop` ends only the collector. */
class Collected {
  readonly platform: TestPlatform;
  readonly registry: Registry;
  readonly garbage: GarbageCollector;
  readonly events = new EventRing();
  readonly errors: string[] = [];

  constructor(platform: TestPlatform) {
    this.platform = platform;
    const { store, branch } = platform;
    const parts = { kinds, store, clock: Date, under: '', guards: [] };
    const release = (owner: KubeObject): Promise<void> => this.garbage.release(owner);
    this.registry = new Registry({ ...parts, branch, issuers: {}, release });
    const write = (line: string): void => void this.errors.push(JSON.parse(line).msg);
    const logger = pino({ level: 'warn' }, { write });
    const budget = { objects: 10, percent: 20 };
    const { registry } = this;
    this.garbage = new GarbageCollector({
      kinds,
      store: new ReadableStore(store, kinds),
      written: store,
      registry,
      budget,
      logger,
      events: this.events,
      clock: Date,
    });
    onTestFinished(() => this.garbage.stop());
  }

  async create(plural: string, name: string, metadata: object = {}): Promise<KubeObject> {
    const kind = kindOf(plural);
    const namespace = kind.scope === 'Namespaced' ? 'default' : '';
    const body = { metadata: { name, ...metadata } };
    const request = { kind, namespace, body, duplicates: [], options: writeOptions };
    return (await this.registry.create(request)).object;
  }

  async team(name: string, ...owners: OwnerReference[]): Promise<KubeObject> {
    return await this.create('teams', name, owners.length === 0 ? {} : { ownerReferences: owners });
  }

  async delete(
    name: string,
    propagationPolicy?: PropagationPolicy,
    plural = 'teams',
  ): Promise<void> {
    const kind = kindOf(plural);
    const how = { propagationPolicy };
    await this.registry.delete({ kind, namespace: '', name, delete: how, options: writeOptions });
  }

  async finalizers(name: string, finalizers: string[]): Promise<void> {
    await this.registry.update({
      verb: 'patch',
      kind: kindOf('teams'),
      namespace: '',
      name,
      duplicates: [],
      options: writeOptions,
      change: (current) => ({ ...current, metadata: { ...current.metadata, finalizers } }),
    });
  }

  /** Teams that are there when nothing is left to do; those that are being deleted with a star. */
  async left(): Promise<string[]> {
    await this.garbage.settled();
    const teams = this.platform.names('teams');
    return teams.map((name) =>
      this.platform.find('teams', name)?.terminating === true ? `${name}*` : name,
    );
  }

  ownersOf(name: string): string[] {
    const references = this.platform.find('teams', name)?.object.metadata.ownerReferences;
    return (references ?? []).map((reference) => reference.name);
  }

  subjects(): string[] {
    const out = git(this.platform.repository.gitDir, ['log', '--reverse', '--format=%s', 'main']);
    return out.trim().split('\n');
  }
}

async function open(): Promise<Collected> {
  return new Collected(await openTestPlatform());
}

function to(owner: KubeObject, more: Partial<OwnerReference> = {}): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name ?? '', uid: metadata.uid ?? '', ...more };
}

const blocking = (owner: KubeObject): OwnerReference => to(owner, { blockOwnerDeletion: true });

describe('background deletion', () => {
  // covers: metadata.ownerReferences
  test('dependents of any kind, and theirs, follow an owner in commits that say why', async () => {
    const at = await open();
    const ada = await at.create('users', 'ada');
    const child = await at.team('child', to(ada));
    await at.team('grandchild', to(child));
    await at.team('free');
    await at.delete('ada', 'Background', 'users');
    expect(await at.left()).toEqual(['free']);
    const { gitDir } = at.platform.repository;
    const last = git(gitDir, ['log', '-2', '--format=%an: %B', 'main']);
    expect(last).toContain('gitplane: delete Team "child"');
    expect(last).toContain('None of its owners exists any more: User "ada".');
  });

  test('a role that follows from access rules is an owner for as long as it does', async () => {
    const at = await open();
    const access = [{ name: 'readers', verbs: ['get'], users: ['ada'] }];
    await at.platform.commit({ 'teams/owner.yaml': team('owner', { access }) });
    const readable = new ReadableStore(at.platform.store, kinds);
    const roles = (): readonly KubeObject[] =>
      readable.list({ group: RBAC_GROUP, kind: 'ClusterRole' }).items.map(({ object }) => object);
    const [role] = roles();
    if (role === undefined) throw new Error('No role follows from the rule');
    await at.team('child', to(role));
    expect(await at.left()).toEqual(['child', 'owner']);

    await at.platform.commit({ 'teams/owner.yaml': team('owner') });

    expect(roles().map(({ metadata }) => metadata.name)).not.toContain(role.metadata.name);
    expect(await at.left()).toEqual(['owner']);
  });

  test.each([
    ['that exists', 'v1'],
    ['of a version that is not served', 'v9'],
  ])(
    'a change of another object examines no dependent of a derived role %s',
    async (_, version) => {
      const at = await open();
      const access = [{ name: 'readers', verbs: ['get'], users: ['ada'] }];
      await at.platform.commit({ 'teams/owner.yaml': team('owner', { access }) });
      const readable = new ReadableStore(at.platform.store, kinds);
      const [role] = readable.list({ group: RBAC_GROUP, kind: 'ClusterRole' }).items;
      if (role === undefined) throw new Error('No role follows from the rule');
      const owner = { ...to(role.object), apiVersion: `${RBAC_GROUP}/${version}` };
      for (let index = 0; index < 20; index += 1) await at.team(`child-${index}`, owner);
      await at.left();
      const examined = vi.spyOn(ReadableStore.prototype, 'get');
      onTestFinished(() => examined.mockRestore());

      await at.team('another');

      expect(await at.left()).toHaveLength(22);
      const names = examined.mock.calls.map(([{ name: one }]) => one);
      expect(names.filter((one) => one.startsWith('child-'))).toEqual([]);
    },
  );

  test('an owner that a push removes takes its dependents along', async () => {
    const at = await open();
    await at.team('child', to(await at.team('owner')));
    await at.platform.commit({ 'teams/owner.yaml': null });
    expect(await at.left()).toEqual([]);
  });

  // covers: metadata.ownerReferences
  test('the last of several owners counts; references to the others are removed', async () => {
    const at = await open();
    const [one, two] = [await at.team('one'), await at.team('two')];
    await at.team('child', to(one), to(two));
    await at.delete('one');
    expect(await at.left()).toEqual(['child', 'two']);
    expect(at.ownersOf('child')).toEqual(['two']);
    await at.delete('two');
    expect(await at.left()).toEqual([]);
  });

  test.each([
    // covers: metadata.ownerReferences.name
    ['an owner that never was', { name: 'nobody', uid: 'b9b2a1a6-5d92-4b9f-8d6c-55d2e4f1a111' }],
    // covers: metadata.ownerReferences.uid
    ['an owner of that name with another uid', { name: 'owner', uid: 'another' }],
  ])('%s is an absent owner', async (_, reference) => {
    const at = await open();
    await at.team('owner');
    await at.team('child', { apiVersion: MANAGEMENT, kind: 'Team', ...reference });
    expect(await at.left()).toEqual(['owner']);
  });

  test.each([
    // covers: metadata.ownerReferences.kind
    ['a kind that is served elsewhere', 'apps/v1', 'Deployment'],
    // covers: metadata.ownerReferences.apiVersion
    ['another version of the group', 'management.gitplane.dev/v2', 'Team'],
    ['a kind in namespaces, of an object in none', MANAGEMENT, 'SharedSecret'],
  ])('an owner of %s cannot be missed', async (_, apiVersion, kind) => {
    const at = await open();
    await at.team('child', { apiVersion, kind, name: 'web', uid: 'u-1' });
    expect(await at.left()).toEqual(['child']);
    expect(at.subjects().at(-1)).toBe('create Team "child"');
  });

  // covers: metadata.name.unique
  test('an owner in another namespace is absent', async () => {
    const at = await open();
    const owner = await at.create('sharedsecrets', 'owner');
    const kind = kindOf('sharedsecrets');
    const body = { metadata: { name: 'child', ownerReferences: [to(owner)] } };
    const options = writeOptions;
    await at.registry.create({ kind, namespace: 'elsewhere', body, duplicates: [], options });
    await at.registry.create({ kind, namespace: 'default', body, duplicates: [], options });
    await at.garbage.settled();
    expect(at.platform.find('sharedsecrets', 'child', 'elsewhere')).toBeUndefined();
    expect(at.platform.find('sharedsecrets', 'child', 'default')).toBeDefined();
  });

  test('a cycle of owners is collected when one of them is deleted', async () => {
    const at = await open();
    const one = await at.team('one');
    const two = await at.team('two', to(one));
    await at.registry.update({
      verb: 'patch',
      kind: kindOf('teams'),
      namespace: '',
      name: 'one',
      duplicates: [],
      options: writeOptions,
      change: (it) => ({ ...it, metadata: { ...it.metadata, ownerReferences: [to(two)] } }),
    });
    expect(await at.left()).toEqual(['one', 'two']);
    await at.delete('two');
    expect(await at.left()).toEqual([]);
  });

  test('an object that cannot be deleted stays, and is not retried forever', async () => {
    const at = await open();
    const owner = await at.team('owner');
    const annotations = { 'gitplane.dev/non-deletable': 'true' };
    await at.create('teams', 'child', { ownerReferences: [to(owner)], annotations });
    await at.delete('owner');
    expect(await at.left()).toEqual(['child']);
    expect(at.errors).toEqual(['Cannot collect garbage']);
  });
});

const OWNERS = 20;
const CHILDREN = 200;

describe('foreground deletion', () => {
  test('examines owners that share many dependents in time that follows their references', async () => {
    const at = await open();
    const top = await at.team('top');
    const ownerReferences: OwnerReference[] = [];
    for (let i = 0; i < OWNERS; i += 1) {
      ownerReferences.push(blocking(await at.team(`owner-${i}`, blocking(top))));
    }
    const children = Array.from({ length: CHILDREN }, (_, i) => {
      const metadata = { name: `child-${i}`, ownerReferences };
      const manifest = JSON.stringify({ apiVersion: MANAGEMENT, kind: 'Team', metadata });
      return [`teams/child-${i}.yaml`, `${manifest}\n`] as const;
    });
    await at.platform.commit(Object.fromEntries(children));
    await at.left();
    const examined = vi.spyOn(ReadableStore.prototype, 'get');
    onTestFinished(() => examined.mockRestore());

    await at.delete('top', 'Foreground');

    expect(await at.left()).toEqual([]);
    // Each reference is looked up when its child is examined, and when the child is gone.
    expect(examined.mock.calls.length).toBeLessThan(2.5 * OWNERS * CHILDREN);
  });

  // covers: metadata.ownerReferences.blockOwnerDeletion{,.default}
  test('the owner stays until the dependents that block it are gone', async () => {
    const at = await open();
    const owner = await at.team('owner');
    await at.team('blocker', blocking(owner));
    await at.team('other', to(owner));
    await at.finalizers('blocker', ['example.com/wait']);
    await at.delete('owner', 'Foreground');
    expect(await at.left()).toEqual(['blocker*', 'other', 'owner*']);
    await at.finalizers('blocker', []);
    expect(await at.left()).toEqual([]);
    expect(at.subjects().slice(-3)).toEqual([
      'delete Team "owner"',
      'delete Team "blocker"',
      'delete Team "other"',
    ]);
  });

  test('an owner without dependents does not stay', async () => {
    const at = await open();
    await at.team('owner');
    await at.delete('owner', 'Foreground');
    expect(await at.left()).toEqual([]);
  });

  test('a dependent that stops blocking lets its owner go', async () => {
    const at = await open();
    const owner = await at.team('owner');
    const annotations = { 'gitplane.dev/non-deletable': 'true' };
    await at.create('teams', 'child', { ownerReferences: [blocking(owner)], annotations });
    await at.delete('owner', 'Foreground');
    expect(await at.left()).toEqual(['child', 'owner*']);
    await at.platform.patch('teams', 'child', ({ metadata }) => {
      delete metadata.ownerReferences;
    });
    expect(await at.left()).toEqual(['child']);
  });

  test('a circle of owners that block each other goes', async () => {
    const at = await open();
    const one = await at.team('one');
    const two = await at.team('two', blocking(one));
    await at.platform.patch('teams', 'one', ({ metadata }) => {
      metadata.ownerReferences = [blocking(two)];
    });
    await at.delete('one', 'Foreground');
    expect(await at.left()).toEqual([]);
  });

  test('a later deletion in the background does not wait any longer', async () => {
    const at = await open();
    const owner = await at.team('owner');
    await at.team('child', blocking(owner));
    await at.finalizers('child', ['example.com/wait']);
    await at.delete('owner', 'Foreground');
    expect(await at.left()).toEqual(['child*', 'owner*']);
    await at.delete('owner', 'Background');
    expect(await at.left()).toEqual(['child*']);
  });
});

describe('orphaning', () => {
  test('dependents lose the reference before the owner goes', async () => {
    const at = await open();
    await at.team('child', to(await at.team('owner')));
    await at.delete('owner', 'Orphan');
    expect(await at.left()).toEqual(['child']);
    expect(at.ownersOf('child')).toEqual([]);
    expect(at.subjects().slice(-2)).toEqual(['patch Team "child"', 'delete Team "owner"']);
  });

  test('a deletion that is refused releases no owner', async () => {
    const at = await open();
    await at.team('child', to(await at.team('owner')));
    const how = { propagationPolicy: 'Orphan', uid: 'another' } as const;
    const target = { kind: kindOf('teams'), namespace: '', name: 'owner' };
    const request = { ...target, delete: how, options: writeOptions };
    await expect(at.registry.delete(request)).rejects.toThrow('precondition');
    expect(at.ownersOf('child')).toEqual(['owner']);
  });

  test('a finalizer of the owner asks for it, too', async () => {
    const at = await open();
    await at.team('child', to(await at.team('owner')));
    await at.finalizers('owner', ['orphan']);
    await at.delete('owner');
    expect(await at.left()).toEqual(['child']);
    expect(at.ownersOf('child')).toEqual([]);
  });
});

describe('collection at the start', () => {
  test('an object that lost its owner meanwhile is collected', async () => {
    const before = await open();
    await before.team('child', to(await before.team('owner')));
    await before.team('free');
    await before.garbage.stop();
    await before.delete('owner');
    const after = new Collected(await before.platform.restart());
    expect(await after.left()).toEqual(['free']);
  });

  test('a deletion in the foreground goes on', async () => {
    const before = await open();
    const owner = await before.team('owner');
    await before.team('child', blocking(owner));
    await before.garbage.stop();
    await before.delete('owner', 'Foreground');
    const after = new Collected(await before.platform.restart());
    expect(await after.left()).toEqual([]);
  });

  test.each(['foregroundDeletion', 'orphan'])(
    'an owner that only %s holds goes',
    async (finalizer) => {
      const before = await open();
      await before.team('owner');
      await before.finalizers('owner', [finalizer]);
      await before.garbage.stop();
      await before.delete('owner');
      const after = new Collected(await before.platform.restart());
      expect(await after.left()).toEqual([]);
    },
  );

  test('garbage over the prune budget stays until it changes', async () => {
    const platform = await openTestPlatform();
    const reference = {
      apiVersion: MANAGEMENT,
      kind: 'Team',
      name: 'owner',
      uid: 'of-another-repository',
    };
    const names = Array.from({ length: 12 }, (_, i) => `t${String(i).padStart(2, '0')}`);
    const files = names.map((name) => {
      const metadata = { name, ownerReferences: [reference] };
      return [
        `teams/${name}.yaml`,
        JSON.stringify({ apiVersion: MANAGEMENT, kind: 'Team', metadata }),
      ];
    });
    await platform.commit(Object.fromEntries(files));
    const at = new Collected(platform);
    expect(await at.left()).toEqual(names);
    expect(at.errors).toEqual([expect.stringContaining('more than the prune budget allows')]);
    await platform.patch('teams', 't00', ({ metadata }) => {
      metadata.labels = { looked: 'at' };
    });
    expect(await at.left()).toEqual(names.slice(1));
  });
});

/** Owners, as indices of earlier or later objects, and deleted objects. */
const GRAPHS = fc.record({
  owners: fc.array(fc.array(fc.nat(6), { maxLength: 2 }), { minLength: 7, maxLength: 7 }),
  deleted: fc.array(fc.nat(6), { minLength: 1, maxLength: 3 }),
  policy: fc.constantFrom<PropagationPolicy>('Background', 'Foreground'),
});

test('the remaining objects have an owner left, or never had one', async () => {
  await fc.assert(
    fc.asyncProperty(GRAPHS, async ({ owners, deleted, policy }) => {
      const at = await open();
      const teams: KubeObject[] = [];
      for (const i of owners.keys()) teams.push(await at.team(`t${i}`));
      for (const [i, of] of owners.entries()) {
        const references = [...new Set(of)]
          .filter((owner) => owner !== i)
          .map((owner) => blocking(teams[owner] as KubeObject));
        if (references.length === 0) continue;
        await at.platform.patch('teams', `t${i}`, ({ metadata }) => {
          metadata.ownerReferences = references;
        });
      }
      for (const i of new Set(deleted)) await at.delete(`t${i}`, policy).catch(() => undefined);
      expect(await at.left()).toEqual(expected(owners, deleted));
      await at.garbage.stop();
      await at.platform.close();
    }),
    { numRuns: runs(15) },
  );
});

function expected(owners: readonly number[][], deleted: readonly number[]): string[] {
  const gone = new Set(deleted);
  for (let before = -1; before !== gone.size; ) {
    before = gone.size;
    for (const [i, of] of owners.entries()) {
      const references = of.filter((owner) => owner !== i);
      if (references.length > 0 && references.every((owner) => gone.has(owner))) gone.add(i);
    }
  }
  return [...owners.keys()].filter((i) => !gone.has(i)).map((i) => `t${i}`);
}
