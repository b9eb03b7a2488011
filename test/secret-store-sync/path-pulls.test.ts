/** Pulls of whole paths: what becomes an object, what does not, and what is left alone. */
import { describe, expect, test, vi } from 'vitest';
import { git } from '../support/git.ts';
import { kindOf } from '../support/platform.ts';
import {
  defaultConfig,
  openSynced,
  type SyncedPlatform,
  type SyncedSetup,
  secret,
} from './synced-platform.ts';

const PULL = { name: 'team', mount: 'secret', path: 'team', namespace: 'team-a' };

/** A platform whose default store pulls `secret/team`; the fields are added. */
async function pulling(fields: object = {}, setup: SyncedSetup = {}): Promise<SyncedPlatform> {
  const synced = await openSynced({ config: { enabled: false }, ...setup });
  await pull(synced, fields);
  return synced;
}

async function pull(synced: SyncedPlatform, ...pulls: object[]): Promise<void> {
  const all = pulls.map((fields) => ({ ...PULL, ...fields }));
  await synced.configure({ ...defaultConfig(synced.server), pulls: all });
}

function names({ platform }: SyncedPlatform, plural = 'sharedsecrets'): string[] {
  const { group, kind } = kindOf(plural);
  return platform.store
    .list({ group, kind })
    .items.filter(({ key }) => key.namespace === 'team-a')
    .map(({ key }) => key.name)
    .sort();
}

function found({ platform }: SyncedPlatform, name: string, plural = 'sharedsecrets') {
  return platform.find(plural, name, 'team-a')?.object;
}

function values(synced: SyncedPlatform, name: string): Record<string, string> {
  const data = (found(synced, name)?.spec?.['data'] ?? {}) as Record<string, string>;
  return Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]),
  );
}

function conditions(synced: SyncedPlatform, name: string): string[] {
  const all = (found(synced, name)?.status?.['conditions'] ?? []) as Record<string, string>[];
  return all.map(({ type, status, reason }) => `${type}=${status} ${reason}`);
}

function reasons(synced: SyncedPlatform): string[] {
  const [report] = synced.sync.report().pulls;
  return (report?.refused ?? []).map(({ reason, path }) => `${reason} ${path}`);
}

// biome-ignore lint/suspicious/noExplicitAny: a test changes what it likes
async function change(synced: SyncedPlatform, name: string, edit: (object: any) => void) {
  await synced.platform.registry.update({
    verb: 'patch',
    kind: kindOf('sharedsecrets'),
    namespace: 'team-a',
    name,
    duplicates: [],
    options: { user: { name: 'ann', groups: [] }, dryRun: false, fieldValidation: 'Strict' },
    change: (current) => {
      const copy = structuredClone(current);
      edit(copy);
      return copy;
    },
  });
}

async function remove(synced: SyncedPlatform, name: string): Promise<void> {
  await synced.platform.registry.delete({
    kind: kindOf('sharedsecrets'),
    namespace: 'team-a',
    name,
    delete: {},
    options: { user: { name: 'ann', groups: [] }, dryRun: false, fieldValidation: 'Strict' },
  });
}

describe('a secret below the path', () => {
  test.each([
    ['with listings of versions', true],
    ['with plain listings', false],
  ])('becomes an object that is tied and sealed as any other, %s', async (_how, listsVersions) => {
    const synced = await pulling({ labels: { team: 'a' } });
    synced.mount.listsVersions = listsVersions;
    synced.mount.put('team/mail', { user: 'ann', password: 'p' });
    synced.mount.put('team/db/Main', { url: 'u' });
    synced.mount.put('other/x', { a: '1' });
    await synced.cycle();

    expect(names(synced)).toEqual(['db-main', 'mail']);
    expect(values(synced, 'db-main')).toEqual({ url: 'u' });
    expect(found(synced, 'mail')?.metadata).toMatchObject({
      labels: { team: 'a', 'gitplane.dev/secret-store-pull': 'team' },
      annotations: {
        'gitplane.dev/secret-store-kv-mount-path': 'secret',
        'gitplane.dev/secret-store-kv-secret-path': 'team/mail',
      },
    });
    await vi.waitFor(() => expect(conditions(synced, 'mail')).toEqual(['Synced=True Synced']));
    expect(synced.sync.report().pulls).toMatchObject([
      { name: 'team', place: 'secret/team', tied: 2, untied: 0, refused: [], problem: undefined },
    ]);
    const log = git(synced.platform.repository.gitDir, [
      'log',
      '-3',
      '--format=%an %s%n%b',
      'main',
    ]);
    expect(log).toContain('gitplane-secret-sync create SharedSecret "team-a/mail"');
    expect(log).toContain('secret/team/mail, by the pull team. Keys: password, user');
    expect(log).toContain('Store-Version: 1');

    synced.mount.put('team/mail', { user: 'ann', password: 'q' });
    await synced.cycle();
    expect(values(synced, 'mail')).toEqual({ user: 'ann', password: 'q' });
  });

  test('makes one commit, and nothing more while nothing changes', async () => {
    const synced = await pulling();
    for (let index = 0; index < 5; index += 1) synced.mount.put(`team/${index}`, { a: '1' });
    const commits = () =>
      Number(git(synced.platform.repository.gitDir, ['rev-list', '--count', 'main']).trim());
    const before = commits();
    await synced.cycle();
    await vi.waitFor(() => expect(synced.sync.report().counts).toMatchObject({ synced: 5 }));
    const { resourceVersion } = synced.platform.store;
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();

    expect(commits()).toBe(before + 5);
    expect(synced.platform.store.resourceVersion).toBe(resourceVersion);
  });

  test.each<[string, object, string[]]>([
    ['all of them', {}, ['a', 'b-c', 'b-d-e']],
    ['without a path', { path: undefined, match: '^team/' }, ['team-a', 'team-b-c', 'team-b-d-e']],
    ['those of the folder alone', { recursive: false }, ['a']],
    ['those that match', { match: '^b/' }, ['b-c', 'b-d-e']],
    ['those that are not excluded', { exclude: 'd|^a$' }, ['b-c']],
    ['those of both', { match: 'b', exclude: 'e$' }, ['b-c']],
    ['none', { match: '^nothing$' }, []],
    ['under other names', { nameTemplate: 'x-{name}.y' }, ['x-a.y', 'x-c.y', 'x-e.y']],
  ])('is one of %s', async (_what, fields, expected) => {
    const synced = await pulling(fields);
    for (const path of ['a', 'b/c', 'b/d/e']) synced.mount.put(`team/${path}`, { a: '1' });
    synced.mount.put('elsewhere', { a: '1' });
    await synced.cycle();

    expect(names(synced)).toEqual(expected);
  });

  test('becomes a project secret where that is asked for', async () => {
    const synced = await pulling({ kind: 'ProjectSecret' });
    synced.mount.put('team/a', { a: '1' });
    await synced.cycle();

    expect(names(synced, 'projectsecrets')).toEqual(['a']);
    expect(names(synced)).toEqual([]);
  });

  test('a secret of KV v1, and of a named store, is pulled', async () => {
    const synced = await openSynced({ config: { enabled: false } });
    synced.server.store.mount('old/', 1).texts.set('team/a', '{"a":"1"}');
    const pulls = [{ ...PULL, mount: 'old' }];
    await synced.configure({ enabled: false }, [
      { name: 'eu', ...defaultConfig(synced.server), pulls },
    ]);
    await synced.cycle();

    expect(values(synced, 'a')).toEqual({ a: '1' });
    expect(found(synced, 'a')?.metadata.annotations?.['gitplane.dev/secret-store']).toBe('eu');
    expect(synced.sync.report().stores[0]?.pulls).toMatchObject([
      { place: 'eu:old/team', tied: 1 },
    ]);
  });

  test('a secret that is already deleted in the store is not created', async () => {
    for (const listsVersions of [true, false]) {
      const synced = await pulling({ deletionPolicy: 'Delete' });
      synced.mount.listsVersions = listsVersions;
      synced.mount.put('team/a', { a: '1' });
      synced.mount.deleteLatest('team/a');
      await synced.cycle();

      expect(names(synced)).toEqual([]);
      expect(reasons(synced)).toEqual([]);
    }
  });

  test('a secret that changes after the object was made is not a conflict of adoption', async () => {
    const synced = await pulling();
    synced.mount.put('team/a', { a: '1' });
    const { create } = synced.platform.registry;
    vi.spyOn(synced.platform.registry, 'create').mockImplementationOnce(async (request) => {
      const made = await create.call(synced.platform.registry, request);
      synced.mount.put('team/a', { a: '2' });
      return made;
    });
    await synced.cycle();
    await synced.cycle();

    expect(values(synced, 'a')).toEqual({ a: '2' });
    expect(conditions(synced, 'a')).toEqual(['Synced=True Synced']);
  });
});

describe('a name', () => {
  test('a name of an object that is not tied to the path is left alone, and reported', async () => {
    const synced = await pulling();
    const own = { metadata: { name: 'mail' }, spec: { data: { own: 'eA==' } } };
    await synced.platform.create('sharedsecrets', own, 'team-a');
    synced.mount.put('team/mail', { a: '1' });
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();

    expect(values(synced, 'mail')).toEqual({ own: 'x' });
    expect(found(synced, 'mail')?.metadata.annotations).toBeUndefined();
    expect(reasons(synced)).toEqual(['NameTaken team/mail']);
    expect(synced.toldOfPulls.at(-1)).toMatch(
      /^pull team of secret\/team: NameTaken: "team\/mail"/,
    );
    const events = synced.events.list().filter(({ reason }) => reason === 'NameTaken');
    expect(events.map(({ key, count }) => [key.name, count])).toEqual([['mail', 1]]);
    const metrics = await synced.metrics.metrics();
    expect(metrics).toMatch(/pull_secrets\{store="default",pull="team",state="refused"\} 1$/m);

    await remove(synced, 'mail');
    await synced.cycle();
    expect(values(synced, 'mail')).toEqual({ a: '1' });
    expect(synced.toldOfPulls.at(-1)).toBeUndefined();
  });

  test('is not needed by a secret that a user tied already, under any name', async () => {
    const synced = await pulling({ deletionPolicy: 'Delete' });
    const own = secret('mine', {}, { 'kv-secret-path': 'team/mail' });
    await synced.platform.create('sharedsecrets', own, 'team-a');
    synced.mount.put('team/mail', { a: '1' });
    await synced.cycle();

    expect(names(synced)).toEqual(['mine']);
    expect(reasons(synced)).toEqual([]);
  });

  test('a name of two secrets goes to the first, and stays with its owner', async () => {
    const synced = await pulling();
    for (const path of ['a/b', 'A-b', 'a-b']) synced.mount.put(`team/${path}`, { of: path });
    await synced.cycle();
    expect(names(synced)).toEqual(['a-b']);
    expect(values(synced, 'a-b')).toEqual({ of: 'A-b' });
    expect(reasons(synced)).toEqual(['NameTaken team/a-b', 'NameTaken team/a/b']);

    synced.mount.put('team/0', { of: '0' });
    await synced.cycle();
    expect(values(synced, 'a-b')).toEqual({ of: 'A-b' });
    expect(reasons(synced)).toEqual(['NameTaken team/a-b', 'NameTaken team/a/b']);
  });

  test.each<[string, string]>([
    ['...', 'NameInvalid'],
    ['ключ', 'NameInvalid'],
    ['a/.b', 'NameInvalid'],
    [`${'a'.repeat(254)}`, 'NameInvalid'],
    ['with space', 'PathInvalid'],
    ['a%2e', 'PathInvalid'],
    ['a*', 'PathInvalid'],
    ['a?b=c', 'PathInvalid'],
    ['a\nb', 'PathInvalid'],
    ['a/../../x', 'InvalidPath'],
    ['../sys/x', 'InvalidPath'],
    ['x.', 'PathInvalid'],
  ])('a name of %j is refused, with its path, and the others are pulled', async (path, reason) => {
    const synced = await pulling();
    synced.mount.listsVersions = false;
    synced.mount.put(`team/${path}`, { a: '1' });
    synced.mount.put('team/fine', { a: '1' });
    await synced.cycle();

    expect(names(synced)).toEqual(['fine']);
    expect(reasons(synced).map((one) => one.split(' ')[0])).toEqual([reason]);
    expect(JSON.stringify(synced.sync.report().pulls)).not.toContain('"a":"1"');
  });
});

describe('a person', () => {
  async function made(fields: object = {}): Promise<SyncedPlatform> {
    const synced = await pulling(fields);
    for (const name of ['a', 'b']) synced.mount.put(`team/${name}`, { v: '1' });
    await synced.cycle();
    await vi.waitFor(() => expect(synced.sync.report().counts).toMatchObject({ synced: 2 }));
    return synced;
  }

  test('changed values stay, and the condition reports it', async () => {
    const synced = await made();
    await change(synced, 'a', (object) => Object.assign(object.spec.data, { v: 'eA==' }));
    for (let cycle = 0; cycle < 2; cycle += 1) await synced.cycle();

    expect(values(synced, 'a')).toEqual({ v: 'x' });
    expect(conditions(synced, 'a')).toEqual(['Synced=False GitChanged']);
    synced.mount.put('team/a', { v: '2' });
    await synced.cycle();
    expect(values(synced, 'a')).toEqual({ v: 'x' });
    expect(conditions(synced, 'a')).toEqual(['Synced=False Conflict']);
  });

  test('changed annotations and labels stay', async () => {
    const synced = await made({ labels: { team: 'a' } });
    await change(synced, 'a', (object) => {
      object.metadata.annotations['gitplane.dev/secret-store-direction'] = 'both';
      object.metadata.labels.team = 'b';
    });
    for (let cycle = 0; cycle < 2; cycle += 1) await synced.cycle();
    expect(found(synced, 'a')?.metadata.labels).toMatchObject({ team: 'b' });
    await change(synced, 'a', (object) => Object.assign(object.spec.data, { v: 'eA==' }));
    await synced.cycle();

    expect(synced.mount.live('team/a')).toEqual({ v: 'x' });
  });

  test('an untied object stays as it is, without a complaint', async () => {
    const synced = await made({ deletionPolicy: 'Delete' });
    await change(synced, 'a', (object) => {
      delete object.metadata.annotations;
    });
    synced.mount.put('team/a', { v: '2' });
    for (let cycle = 0; cycle < 2; cycle += 1) await synced.cycle();
    expect(values(synced, 'a')).toEqual({ v: '1' });
    expect(synced.sync.report().pulls).toMatchObject([{ tied: 1, untied: 1, refused: [] }]);
    expect(synced.toldOfPulls.at(-1)).toBeUndefined();

    synced.mount.removeKey('team/a');
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();
    expect(values(synced, 'a')).toEqual({ v: '1' });
  });

  test('a deleted object is back with the next listing', async () => {
    const synced = await made();
    await remove(synced, 'a');
    expect(names(synced)).toEqual(['b']);
    await synced.cycle();

    expect(names(synced)).toEqual(['a', 'b']);
  });

  test('ending or narrowing a pull deletes nothing, and the objects follow the store on', async () => {
    const synced = await made({ deletionPolicy: 'Delete' });
    await pull(synced, { match: '^b$' });
    await synced.cycle();
    expect(names(synced)).toEqual(['a', 'b']);
    await pull(synced);
    synced.mount.put('team/a', { v: '2' });
    await synced.cycle();

    expect(values(synced, 'a')).toEqual({ v: '2' });
    expect(synced.sync.report().pulls).toEqual([]);
    expect(await synced.metrics.metrics()).not.toContain('pull_secrets{');
  });
});

describe('deletions in the store', () => {
  async function many(deletionPolicy: string, count = 3): Promise<SyncedPlatform> {
    const synced = await pulling({ deletionPolicy });
    for (let index = 0; index < count; index += 1) synced.mount.put(`team/${index}`, { a: '1' });
    await synced.cycle();
    await vi.waitFor(() => expect(synced.sync.report().counts).toMatchObject({ synced: count }));
    return synced;
  }

  test.each([
    ['Retain', ['0', '1', '2']],
    ['Delete', ['1', '2']],
  ])('%s: the objects are %j', async (policy, expected) => {
    for (const remove of ['deleteLatest', 'removeKey'] as const) {
      const synced = await many(policy);
      synced.mount[remove]('team/0');
      for (let cycle = 0; cycle < 4; cycle += 1) await synced.cycle();

      expect(names(synced)).toEqual(expected);
    }
  });

  test('deletions of many secrets wait for an approval', async () => {
    const synced = await many('Delete', 6);
    for (let index = 0; index < 6; index += 1) synced.mount.removeKey(`team/${index}`);
    for (let cycle = 0; cycle < 4; cycle += 1) await synced.cycle();
    expect(names(synced)).toHaveLength(6);
    expect(conditions(synced, '0')).toEqual(['Synced=False MassDeletionBlocked']);
    await synced.cycle(true);
    await synced.cycle();

    expect(names(synced)).toEqual([]);
  });

  test.each<[string, (synced: SyncedPlatform) => unknown, string | undefined]>([
    ['is empty', ({ mount }) => void Object.assign(mount, { listsNothing: true }), undefined],
    ['is refused', ({ server }) => deny(server, /metadata\/team/), 'Forbidden'],
    [
      'meets a sealed store',
      ({ server }) => void Object.assign(server.store, { isSealed: true }),
      'Sealed',
    ],
    [
      'is cut off',
      ({ server }) => void server.faults.push(...Array(40).fill('cut-before')),
      'Unreachable',
    ],
  ])('are none where a listing %s', async (_what, fail, reason) => {
    const synced = await many('Delete');
    const requests = synced.server.store.requests.length;
    fail(synced);
    for (let cycle = 0; cycle < 4; cycle += 1) await synced.cycle();

    expect(synced.server.store.requests.length).toBeGreaterThanOrEqual(requests);
    expect(names(synced)).toEqual(['0', '1', '2']);
    const [report] = synced.sync.report().pulls;
    if (reason !== undefined) {
      expect(report?.problem?.reason).toBe(reason);
      expect(synced.toldOfPulls.at(-1)).toContain(reason);
      expect(await synced.metrics.metrics()).toMatch(/pull_listed\{.*\} 0$/m);
    }
  });

  test('are none where listings flip between all and nothing', async () => {
    const synced = await many('Delete');
    for (let cycle = 0; cycle < 6; cycle += 1) {
      synced.mount.listsNothing = cycle % 2 === 0;
      await synced.cycle();
    }
    expect(names(synced)).toEqual(['0', '1', '2']);
    const log = git(synced.platform.repository.gitDir, ['log', '--format=%s', 'main']);
    expect(log).not.toContain('delete');
    expect(log.match(/create SharedSecret "team-a/g)).toHaveLength(3);
  });
});

describe('a pull', () => {
  test('a pull stops at its limit, and reports the number of omitted secrets', async () => {
    const synced = await pulling({ limit: 3 });
    for (let index = 0; index < 8; index += 1) synced.mount.put(`team/${index}`, { a: '1' });
    for (let cycle = 0; cycle < 2; cycle += 1) await synced.cycle();
    expect(names(synced)).toEqual(['0', '1', '2']);
    expect(synced.toldOfPulls.at(-1)).toContain(
      '5 more secrets are below the path than its limit of 3',
    );

    await pull(synced, { limit: 7 });
    await synced.cycle();
    expect(names(synced)).toHaveLength(7);
  });

  test('a pull of 10,000 secrets ends at its limit and keeps no change of git waiting', async () => {
    const synced = await pulling({ limit: 60 });
    for (let index = 0; index < 10_000; index += 1) synced.mount.put(`team/n${index}`, { a: '1' });
    await synced.tie({ a: 'of git' }, { direction: 'both', 'kv-secret-path': 'app/own' });
    await synced.cycle();

    expect(names(synced)).toHaveLength(60);
    expect(synced.mount.live('app/own')).toEqual({ a: 'of git' });
    expect(reasons(synced)).toEqual(['LimitReached team']);
    expect(synced.server.store.requests.length).toBeLessThan(400);
  });

  test('a pull of too many secrets to list, or too deep ones, reports it', async () => {
    const synced = await pulling({ match: '^nothing' });
    for (let index = 0; index < 20_100; index += 1) synced.mount.put(`team/n${index}`, { a: '1' });
    synced.mount.put(`team/${'d/'.repeat(40)}x`, { a: '1' });
    await synced.cycle();

    expect(reasons(synced)).toContain('LimitReached team/');
  });

  test('a pull of a folder that the token may not list pulls the others', async () => {
    const synced = await pulling();
    synced.mount.put('team/a', { a: '1' });
    synced.mount.put('team/closed/b', { a: '1' });
    deny(synced.server, /metadata\/team\/closed/);
    await synced.cycle();

    expect(names(synced)).toEqual(['a']);
    expect(reasons(synced)).toEqual(['Forbidden team/closed/']);
  });

  test('lists again after its interval, after a change, and on request', async () => {
    const clock = { now: () => Date.now() };
    const synced = await pulling({ interval: '1h' }, { options: { clock } });
    const listings = () =>
      synced.server.store.requests.filter(({ path }) => path.includes('metadata/team/?list'))
        .length;
    await synced.cycle();
    const first = listings();
    synced.sync.configurationChanged();
    await vi.waitFor(() => expect(synced.sync.report().state).toBe('available'));
    expect(listings()).toBe(first);
    await synced.cycle();
    expect(listings()).toBeGreaterThan(first);
  });

  test('a pull of a store that is disabled is no longer reported', async () => {
    const synced = await pulling({ limit: 1 });
    for (const name of ['a', 'b']) synced.mount.put(`team/${name}`, { a: '1' });
    await synced.cycle();
    expect(synced.toldOfPulls.at(-1)).toContain('LimitReached');
    await synced.configure({ enabled: false });
    await vi.waitFor(() => expect(synced.toldOfPulls.at(-1)).toBeUndefined());

    expect(synced.sync.report().pulls).toEqual([]);
    expect(names(synced)).toEqual(['a']);
  });

  test('makes nothing where writes are reviewed', async () => {
    const synced = await pulling({}, { isReviewed: true });
    synced.mount.put('team/a', { a: '1' });
    await synced.cycle();

    expect(names(synced)).toEqual([]);
    expect(synced.sync.report().pulls[0]?.problem?.reason).toBe('ReviewOnly');
  });

  test('goes on where a daemon ended in its middle, and makes nothing twice', async () => {
    let synced = await pulling();
    for (let index = 0; index < 40; index += 1)
      synced.mount.put(`team/${index}`, { a: String(index) });
    void synced.cycle();
    await vi.waitFor(() => expect(names(synced).length).toBeGreaterThan(3));
    synced = await synced.restart();
    await synced.cycle();
    await vi.waitFor(() => expect(synced.sync.report().counts).toMatchObject({ synced: 40 }));

    expect(names(synced)).toHaveLength(40);
    const log = git(synced.platform.repository.gitDir, ['log', '--format=%s', 'main']);
    expect(log.match(/create SharedSecret "team-a/g)).toHaveLength(40);
  });
});

function deny({ store }: SyncedPlatform['server'], paths: RegExp): void {
  const token = store.tokens.get('root');
  if (token === undefined) throw new Error('The store has no token');
  token.denies = (_method, path) => paths.test(path);
}
