/** Project secrets that follow a shared secret: the copy, and everything that must not happen to it. */
import fc from 'fast-check';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Condition, KubeObject } from '../../../src/apimachinery/object.ts';
import { conditionsOf } from '../../../src/registry/projection/served-object.ts';
import type { JournalEvent } from '../../../src/state/store.ts';
import { foreignCommit, git } from '../../support/git.ts';
import {
  fileOf,
  filesOf,
  grant,
  object as make,
  openGuardedPlatform,
} from '../../support/guarded-platform.ts';
import {
  kindOf,
  openTestPlatform,
  type TestPlatform,
  writeOptions,
} from '../../support/platform.ts';
import { runs } from '../../support/properties.ts';

const API = 'management.gitplane.dev/v1';
const ONE = { token: 'b25l' };
const TWO = { token: 'dHdv', more: 'bW9yZQ==' };

let platform: TestPlatform;

const labels = (name: string, namespace = 'shared'): object => ({
  'gitplane.dev/sharedsecret-name': name,
  'gitplane.dev/sharedsecret-namespace': namespace,
});
const OFF = { 'gitplane.dev/disable-sync': 'true' };

function shared(name: string, data: object, annotations: object = {}): object {
  const metadata = { name, namespace: 'shared', annotations };
  return { apiVersion: API, kind: 'SharedSecret', metadata, spec: { data } };
}

function follower(name: string, source: string, metadata: object = {}, spec: object = {}): object {
  const own = { name, namespace: 'p-web', labels: labels(source), ...metadata };
  return { apiVersion: API, kind: 'ProjectSecret', metadata: own, spec };
}

const path = fileOf;
async function give(...objects: object[]): Promise<void> {
  await platform.commit(Object.fromEntries(objects.map((it) => [path(it), JSON.stringify(it)])));
}
const take = (...objects: object[]): Promise<unknown> =>
  platform.commit(Object.fromEntries(objects.map((it) => [path(it), null])));

const found = (name = 'copy') => platform.find('projectsecrets', name, 'p-web')?.object;
const dataOf = (name = 'copy'): unknown => found(name)?.spec?.['data'];
const synced = (name = 'copy'): Condition | undefined =>
  conditionsOf(found(name)?.status).find(({ type }) => type === 'Synced');
const everything = (): string =>
  git(platform.repository.gitDir, ['log', 'main', '-p', '--format=%B']);

function update(
  change: (object: KubeObject) => unknown,
  more: { verb?: 'update' | 'patch'; dryRun?: boolean; plural?: string; name?: string } = {},
): ReturnType<TestPlatform['registry']['update']> {
  const { verb = 'patch', dryRun = false, plural = 'projectsecrets', name = 'copy' } = more;
  return platform.registry.update({
    verb,
    kind: kindOf(plural),
    namespace: plural === 'projectsecrets' ? 'p-web' : 'shared',
    name,
    duplicates: [],
    options: { ...writeOptions, dryRun },
    change: (current) => {
      const copy = structuredClone(current);
      return change(copy) ?? copy;
    },
  });
}

const setData = (data: object): Promise<unknown> =>
  update((object) => void Object.assign(object.spec ?? {}, { data }), {
    plural: 'sharedsecrets',
    name: 'source',
  });

beforeEach(async () => {
  platform = await openTestPlatform();
});

describe('a project secret that names a shared secret', () => {
  // covers: service.projectSecrets
  test('has its data, whichever of the two came first', async () => {
    await give(follower('copy', 'source'));
    expect(dataOf()).toBeUndefined();
    expect(synced()).toMatchObject({
      status: 'False',
      severity: 'Error',
      reason: 'SourceNotFound',
    });

    await give(shared('source', ONE));
    expect(dataOf()).toEqual(ONE);
    expect(synced()).toMatchObject({ status: 'True', reason: 'Copied' });
    expect(synced()?.lastTransitionTime).toMatch(/^\d{4}-.*Z$/);

    await give(follower('second', 'source'));
    expect(dataOf('second')).toEqual(ONE);
  });

  test('gets each change in the step that made it, as one event', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    const seen: [number, JournalEvent][] = [];
    const collection = { group: kindOf('projectsecrets').group, kind: 'ProjectSecret' };
    platform.store.observe(collection, (event) => {
      const source = platform.find('sharedsecrets', 'source', 'shared');
      seen.push([event.resourceVersion - (source?.resourceVersion ?? 0), event]);
      expect(event.current.object.spec?.['data']).toEqual(source?.object.spec?.['data']);
    });
    await setData(TWO);

    expect(seen.map(([distance]) => distance)).toEqual([1]);
    expect(dataOf()).toEqual(TWO);
  });

  test('loses it with the source, and has that of the next one once its labels are set again', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    await take(shared('source', ONE));
    expect(dataOf()).toBeUndefined();
    expect(synced()).toMatchObject({ status: 'False', reason: 'SourceNotFound' });

    await give(shared('source', TWO));
    expect(dataOf()).toBeUndefined();
    expect(synced()).toMatchObject({ status: 'False', reason: 'SourceReplaced' });
    await give(follower('copy', 'source', { annotations: { a: 'b' } }));
    expect(dataOf()).toBeUndefined();

    await give(follower('copy', 'source', { labels: {} }));
    await give(follower('copy', 'source'));
    expect(dataOf()).toEqual(TWO);
    expect(synced()).toMatchObject({ status: 'True', reason: 'Copied' });
    await setData(ONE);
    expect(dataOf()).toEqual(ONE);
  });

  test('waits for its source, and has the data of the first one alone', async () => {
    await give(follower('copy', 'source'));
    await give(shared('source', ONE));
    expect(dataOf()).toEqual(ONE);
    await take(shared('source', ONE));
    await give(shared('source', TWO));
    expect(dataOf()).toBeUndefined();

    platform = await platform.restart();
    expect(dataOf()).toBeUndefined();
    expect(synced()).toMatchObject({ reason: 'SourceReplaced' });
    platform = await platform.restart({ disk: new Map() });
    expect(dataOf()).toBeUndefined();
    expect(synced()).toMatchObject({ reason: 'SourceReplaced' });
  });

  test('keeps the last good data of a broken source', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    await give(shared('source', { token: 'not base64!' }));

    expect(dataOf()).toEqual(ONE);
    expect(synced()?.status).toBe('True');
  });

  test('follows the source that its labels name now, and no other', async () => {
    await give(shared('source', ONE), shared('other', TWO), follower('copy', 'source'));
    await give(follower('copy', 'other'));
    expect(dataOf()).toEqual(TWO);

    await setData({ token: 'bmV3' });
    expect(dataOf()).toEqual(TWO);
  });

  test('moves with its namespace, and is a new one there', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    await give(follower('copy', 'source', { namespace: 'p-shop' }));

    expect(found()).toBeUndefined();
    expect(platform.find('projectsecrets', 'copy', 'p-shop')?.object.spec?.['data']).toEqual(ONE);
    await setData(TWO);
    expect(platform.find('projectsecrets', 'copy', 'p-shop')?.object.spec?.['data']).toEqual(TWO);
    expect(found()).toBeUndefined();
  });

  test('has nothing when the namespace of its source is another one', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    const moved = { ...shared('source', ONE), metadata: { name: 'source', namespace: 'renamed' } };
    await platform.commit({ 'SharedSecret-source.yaml': JSON.stringify(moved) });

    expect(dataOf()).toBeUndefined();
    expect(synced()?.message).toContain('"shared/source" does not exist');
  });

  test('takes the data of the first secret of a chain', async () => {
    const first = { ...shared('source', ONE) } as KubeObject;
    first.metadata = { ...first.metadata, labels: labels('other') as Record<string, string> };
    await give(first, shared('other', TWO), follower('copy', 'source'));

    expect(dataOf()).toEqual(ONE);
    expect(platform.find('sharedsecrets', 'source', 'shared')?.object.spec?.['data']).toEqual(ONE);
  });
});

describe('opting out', () => {
  test.each([
    ['the source', OFF, {}],
    ['the copy', {}, OFF],
  ])('opting out of %s removes the copy, until it is revoked', async (_, ofSource, ofCopy) => {
    await give(shared('source', ONE), follower('copy', 'source'));
    await give(
      shared('source', ONE, ofSource),
      follower('copy', 'source', { annotations: ofCopy }),
    );
    expect(dataOf()).toBeUndefined();
    expect(synced()).toMatchObject({
      status: 'False',
      severity: 'Warning',
      reason: 'SyncDisabled',
    });

    await give(shared('source', TWO), follower('copy', 'source'));
    expect(dataOf()).toEqual(TWO);
  });
});

describe('git', () => {
  test('never holds a copy, after any write', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    await platform.commit({ 'SharedSecret-source.yaml': JSON.stringify(shared('source', TWO)) });
    await update((object) => void Object.assign(object.spec ?? {}, { displayName: 'Copy' }));
    await update((object) => ({ ...object, spec: { displayName: 'Sent back', data: TWO } }), {
      verb: 'update',
    });
    const copy = git(platform.repository.gitDir, ['show', 'main:ProjectSecret-copy.yaml']);

    expect(found()?.spec).toEqual({ displayName: 'Sent back', data: TWO });
    expect(copy).not.toContain('dHdv');
    expect(everything().match(/dHdv/g)).toHaveLength(1);
  });

  test('gets no commit for an object that is sent back as it was read', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    const head = await platform.repository.head();
    const { object } = await update(() => found(), { verb: 'update' });

    expect(await platform.repository.head()).toBe(head);
    expect(object.spec).toEqual({ data: ONE });
  });

  test('gets data that is other than the copy refused', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));

    await expect(update((object) => ({ ...object, spec: { data: TWO } }))).rejects.toThrow(
      /spec\.data: Forbidden: must be empty/,
    );
    expect(dataOf()).toEqual(ONE);
  });

  test('has none of it when the labels are taken off', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    await update((object) => void delete object.metadata.labels);

    expect(dataOf()).toBeUndefined();
    expect(synced()).toBeUndefined();
    expect(found()?.status).toEqual({});
    await setData(TWO);
    expect(dataOf()).toBeUndefined();
  });
});

describe('a dry run', () => {
  test('shows the copy, as the write would', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    const changed = await update((object) => ({ ...object, spec: { displayName: 'x' } }), {
      dryRun: true,
    });
    const made = await platform.registry.create({
      kind: kindOf('projectsecrets'),
      namespace: 'p-web',
      body: follower('new', 'source'),
      duplicates: [],
      options: { ...writeOptions, dryRun: true },
    });

    expect(changed.object.spec).toEqual({ displayName: 'x', data: ONE });
    expect(made.object.spec).toEqual({ data: ONE });
    expect(found('new')).toBeUndefined();
  });
});

describe('a start', () => {
  test('a start with the state has the copies, and follows further changes', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    const before = found();
    platform = await platform.restart();

    expect(found()).toEqual(before);
    await setData(TWO);
    expect(dataOf()).toEqual(TWO);
    await give(follower('copy', 'source', { annotations: { a: 'b' } }));
    expect(found()?.metadata.annotations).toEqual({ a: 'b' });
    expect(dataOf()).toEqual(TWO);
  });

  test('a start without the state makes the same copies', async () => {
    await give(shared('source', ONE), follower('copy', 'source'), follower('lost', 'none'));
    const before = [found(), found('lost')].map((object) => object?.spec);
    platform = await platform.restart({ disk: new Map() });

    expect([found(), found('lost')].map((object) => object?.spec)).toEqual(before);
    expect(synced('lost')?.reason).toBe('SourceNotFound');
    await setData(TWO);
    expect(dataOf()).toEqual(TWO);
  });

  test('a start under other rules makes the copies again', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    platform = await platform.restart({ rules: 'others' });

    expect(dataOf()).toEqual(ONE);
  });

  test('a start after a version without copies makes them', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    const { key, object, hidden } = platform.find('projectsecrets', 'copy', 'p-web') ?? {};
    if (key === undefined || object === undefined) throw new Error('there is no copy');
    const { status: _status, ...bare } = object;
    const put = { object: { ...bare, spec: {} } as KubeObject, hidden };
    platform.store.apply([{ type: 'put', key, ...put }]);
    expect(dataOf()).toBeUndefined();
    platform = await platform.restart();
    await platform.branch.runExclusive(async (state) => state.repairDerivedSecrets());

    expect(dataOf()).toEqual(ONE);
    const { resourceVersion } = platform.store;
    await platform.branch.runExclusive(async (state) => state.repairDerivedSecrets());
    expect(platform.store.resourceVersion).toBe(resourceVersion);
  });

  test('a start after a version that followed names binds the copies', async () => {
    await give(shared('source', ONE), follower('copy', 'source'));
    const { key, object } = platform.find('projectsecrets', 'copy', 'p-web') ?? {};
    if (key === undefined || object === undefined) throw new Error('there is no copy');
    const former = { ...platform.store.document('catalog'), format: 6 };
    platform.store.apply([{ type: 'put', key, object }], { catalog: former });
    platform = await platform.restart();
    await platform.branch.runExclusive(async (state) => state.repairDerivedSecrets());
    expect(dataOf()).toEqual(ONE);
    await setData(TWO);
    expect(dataOf()).toEqual(TWO);
  });
});

describe('random histories', () => {
  const name = fc.constantFrom('a', 'b');
  const source = fc.record({ name, data: fc.constantFrom(ONE, TWO, {}), off: fc.boolean() });
  const copy = fc.record({ name, of: name, off: fc.boolean() });
  const step = fc.array(
    fc.oneof(
      source.map((it) => shared(it.name, it.data, it.off ? OFF : {})),
      copy.map((it) => follower(it.name, it.of, { annotations: it.off ? OFF : {} })),
      name.map((it) => ({ gone: `SharedSecret-${it}.yaml` })),
      name.map((it) => ({ gone: `ProjectSecret-${it}.yaml` })),
    ),
    { minLength: 1, maxLength: 3 },
  );

  test('leave every copy as the source is that it began to follow, and a rebuild makes the same', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        platform = await openTestPlatform();
        const there = new Set<string>();
        lives.clear();
        bonds.clear();
        for (const [i, objects] of steps.entries()) {
          const files: Record<string, string | null> = { 'step.txt': String(i) };
          for (const it of objects) {
            if (!('gone' in it)) files[path(it)] = JSON.stringify(it);
            else if (there.has(it.gone)) files[it.gone] = null;
            else delete files[it.gone];
          }
          for (const [file, text] of Object.entries(files)) {
            if (text !== null && !there.has(file)) lives.set(file, i);
            if (text === null) there.delete(file);
            else there.add(file);
          }
          await platform.commit(files);
          for (const [file, text] of Object.entries(files)) bind(file, text);
          check(there);
        }
        const all = shown();
        platform = await platform.restart({ disk: new Map() });
        expect(shown()).toEqual(all);
        await platform.close();
      }),
      { numRuns: runs(10) },
    );
  });

  const shown = (): unknown => ['a', 'b'].map((it) => found(it)?.spec);

  /** Step that made each file anew. */
  const lives = new Map<string, number>();
  /** Source of each copy, and the life of it; undefined: it waits for one. */
  const bonds = new Map<
    string,
    { of: string; born: number | undefined; life: number | undefined }
  >();

  function bind(file: string, text: string | null): void {
    if (!file.startsWith('ProjectSecret-')) return;
    if (text === null) {
      bonds.delete(file);
      return;
    }
    const { metadata } = JSON.parse(text) as KubeObject;
    const of = `SharedSecret-${metadata.labels?.['gitplane.dev/sharedsecret-name']}.yaml`;
    const born = lives.get(file);
    const before = bonds.get(file);
    if (before?.of === of && before.born === born) return;
    bonds.set(file, { of, born, life: undefined });
  }

  function check(there: ReadonlySet<string>): void {
    for (const [file, bond] of bonds) {
      const life = there.has(bond.of) ? lives.get(bond.of) : undefined;
      bonds.set(file, { ...bond, life: bond.life ?? life });
    }
    for (const it of ['a', 'b']) {
      const object = found(it);
      if (object === undefined) continue;
      const of = object.metadata.labels?.['gitplane.dev/sharedsecret-name'] ?? '';
      const bond = bonds.get(`ProjectSecret-${it}.yaml`);
      const isOwn = bond !== undefined && bond.life === lives.get(bond.of);
      const origin = isOwn ? platform.find('sharedsecrets', of, 'shared')?.object : undefined;
      const isOff = [object, origin].some((one) => one?.metadata.annotations !== undefined);
      expect(object.spec?.['data']).toEqual(isOff ? undefined : origin?.spec?.['data']);
      expect(synced(it)?.status).toBe(isOff || origin === undefined ? 'False' : 'True');
    }
  }
});

describe('a user who may not get the shared secret', () => {
  test('cannot have it copied, by API or push, and a permitted user can', async () => {
    const guarded = await openGuardedPlatform();
    platform = guarded.platform;
    await guarded.give(
      make('User', 'bob'),
      make('User', 'eve'),
      ...grant('writers', '* projectsecrets', 'User:bob'),
      ...grant('writers-2', '* projectsecrets', 'User:eve'),
      ...grant('readers', 'get sharedsecrets source', 'User:eve'),
      shared('source', ONE),
      follower('own', 'source', { labels: {} }, { data: TWO }),
    );
    const bob = await guarded.giveKey('bob', { user: 'bob' });
    const eve = await guarded.giveKey('eve', { user: 'eve' });
    const body = follower('copy', 'source');

    const refused = await guarded.create(bob, 'projectsecrets', body, 'p-web');
    expect(refused).toMatchObject({ code: 403 });
    expect(refused.text).toContain(
      'cannot get SharedSecret "shared/source", whose data it would show',
    );
    expect(JSON.stringify(refused)).not.toContain('b25l');
    const absent = await guarded.create(bob, 'projectsecrets', follower('copy', 'none'), 'p-web');
    expect(absent.code).toBe(403);
    // The words tell nothing about what exists.
    expect(absent.text.replaceAll('none', 'source')).toBe(refused.text);
    const own = follower('own', 'source', {}, {});
    expect((await guarded.push(bob, { 'own.yaml': JSON.stringify(own) })).code).toBe(403);
    expect((await guarded.push(bob, { [path(own)]: JSON.stringify(own) })).code).toBe(403);
    expect(dataOf('own')).toEqual(TWO);

    expect((await guarded.create(eve, 'projectsecrets', body, 'p-web')).code).toBe(200);
    expect(dataOf()).toEqual(ONE);
  });

  test('any more after the copy was made sees it go on, and makes no other', async () => {
    const guarded = await openGuardedPlatform();
    platform = guarded.platform;
    const readers = grant('readers', 'get sharedsecrets', 'User:eve');
    await guarded.give(
      make('User', 'eve'),
      ...grant('writers', '* projectsecrets', 'User:eve'),
      ...readers,
      shared('source', ONE),
    );
    const eve = await guarded.giveKey('eve', { user: 'eve' });
    await guarded.create(eve, 'projectsecrets', follower('copy', 'source'), 'p-web');
    await platform.commit({ 'ClusterRoleBinding-readers.yaml': null });
    await guarded.give(shared('source', TWO));

    expect(dataOf()).toEqual(TWO);
    expect(
      (await guarded.create(eve, 'projectsecrets', follower('more', 'source'), 'p-web')).code,
    ).toBe(403);
  });
});

describe('a user who made a shared secret, had it followed, and deleted it', () => {
  async function squatter() {
    const guarded = await openGuardedPlatform();
    platform = guarded.platform;
    await guarded.give(
      make('User', 'eve'),
      make('User', 'bob'),
      ...grant('makers', 'create sharedsecrets,projectsecrets', 'User:eve'),
      ...grant('others', 'create sharedsecrets', 'User:bob'),
    );
    const eve = await guarded.giveKey('eve', { user: 'eve' });
    const bob = await guarded.giveKey('bob', { user: 'bob' });
    const made = async (token: string, owner: string, data: object) => {
      const body = { ...shared('source', data), spec: { owner: { user: owner }, data } };
      expect(await guarded.create(token, 'sharedsecrets', body, 'shared')).toMatchObject({
        code: 200,
      });
    };
    const gone = () => guarded.delete(eve, 'sharedsecrets', 'source', 'shared');
    const copy = follower('copy', 'source', {}, { owner: { user: 'eve' } });
    const follow = () => guarded.create(eve, 'projectsecrets', copy, 'p-web');
    return { guarded, eve, bob, made, gone, copy, follow };
  }

  test('gets nothing of a later secret of that name, by API or push', async () => {
    const { guarded, eve, bob, made, gone, follow } = await squatter();
    await made(eve, 'eve', ONE);
    expect((await follow()).code).toBe(200);
    expect(dataOf()).toEqual(ONE);
    expect((await gone()).code).toBe(200);
    await made(bob, 'bob', TWO);

    expect(guarded.may(eve, 'get', 'projectsecrets', 'copy', 'p-web')).toBe(true);
    expect(dataOf()).toBeUndefined();
    // As the API wrote it, without the labels and with them again.
    const at = 'namespaces/p-web/projectsecrets/copy.yaml';
    const text = git(platform.repository.gitDir, ['show', `main:${at}`]);
    const bare = text.replaceAll(/^ +gitplane\.dev\/.*\n/gm, '').replace('  labels:\n', '');
    expect((await guarded.push(eve, { [at]: bare })).code).toBe(200);
    expect((await guarded.push(eve, { [at]: text })).code).toBe(403);
    await platform.commit({ [at]: text });
    expect(dataOf()).toEqual(TWO);
  });

  test('cannot set the labels again in one push', async () => {
    const { guarded, eve, bob, made, gone, follow } = await squatter();
    await made(eve, 'eve', ONE);
    await follow();
    await gone();
    await made(bob, 'bob', TWO);
    const at = 'namespaces/p-web/projectsecrets/copy.yaml';
    const text = git(platform.repository.gitDir, ['show', `main:${at}`]);
    const bare = text.replaceAll(/^ +gitplane\.dev\/.*\n/gm, '').replace('  labels:\n', '');
    const { gitDir } = platform.repository;
    const first = foreignCommit(gitDir, { files: { [at]: bare } });
    const second = foreignCommit(gitDir, { files: { [at]: text }, parents: [first] });

    const refused = await platform.push(second, guarded.who(eve));
    expect(refused.lines.join('\n')).toContain('cannot get SharedSecret "shared/source"');
    await guarded.give(...grant('readers', 'get sharedsecrets source', 'User:eve'));
    const onTop = foreignCommit(gitDir, { files: { [at]: bare } });
    const again = foreignCommit(gitDir, { files: { [at]: text }, parents: [onTop] });
    expect((await platform.push(again, guarded.who(eve))).lines).not.toContain('Forbidden');
    await platform.branch.sync();
    expect(dataOf()).toEqual(TWO);
  });

  test('cannot have the next one of the name followed, by a push that deletes its own', async () => {
    const { guarded, eve, bob, made, copy } = await squatter();
    await made(eve, 'eve', ONE);
    const at = 'namespaces/shared/sharedsecrets/source.yaml';
    const files = { 'copy.yaml': JSON.stringify(copy), [at]: null };

    const rights = 'create,delete sharedsecrets,projectsecrets';
    await guarded.give(...grant('deleters', rights, 'User:bob'));
    const own = follower('copy', 'source', {}, { owner: { user: 'bob' } });
    const refused = await guarded.push(bob, { ...files, 'copy.yaml': JSON.stringify(own) });
    expect(refused.text).toContain('cannot get SharedSecret "shared/source"');
    expect((await guarded.push(eve, files)).code).toBe(200);
    await made(bob, 'bob', TWO);
    expect(dataOf()).toBeUndefined();
  });

  test('cannot have it followed by a write beside the deletion', async () => {
    const { bob, eve, made, gone, follow } = await squatter();
    await made(eve, 'eve', ONE);
    const [deleted, followed] = await Promise.all([gone(), follow()]);
    expect(deleted.code).toBe(200);
    expect(followed.code).toBe(409);
    await made(bob, 'bob', TWO);
    expect(dataOf()).toBeUndefined();
  });

  test('cannot have one followed that is still being deleted', async () => {
    const { guarded, eve, bob, made, gone, follow } = await squatter();
    await made(eve, 'eve', ONE);
    const held = await guarded.patch(
      eve,
      'sharedsecrets',
      'source',
      ({ metadata }) => {
        metadata.finalizers = ['example.com/wait'];
      },
      'shared',
    );
    expect(held.code).toBe(200);
    await gone();
    expect((await follow()).code).toBe(403);
    await guarded.patch(
      eve,
      'sharedsecrets',
      'source',
      ({ metadata }) => {
        metadata.finalizers = [];
      },
      'shared',
    );
    await made(bob, 'bob', TWO);
    expect(dataOf()).toBeUndefined();
  });
});

describe('copies that together are too large', () => {
  const LARGE = { token: 'A'.repeat(100_000) };
  const many = Array.from({ length: 700 }, (_, i) => follower(`copy-${i}`, 'source'));
  const TOO_MUCH =
    '700 copies of SharedSecret "shared/source" would have 67 MiB of its data; the limit is 64 MiB';

  async function guardedBy(...objects: object[]) {
    const guarded = await openGuardedPlatform();
    platform = guarded.platform;
    const rules = grant('writers', '* projectsecrets,sharedsecrets', 'User:bob');
    await guarded.give(make('User', 'bob'), ...rules, ...objects);
    return { guarded, bob: await guarded.giveKey('bob', { user: 'bob' }) };
  }

  test('a source does not grow, by the API or a push', async () => {
    const { guarded, bob } = await guardedBy(shared('source', ONE), ...many);

    const grown = shared('source', LARGE);
    const pushed = await guarded.push(bob, { 'SharedSecret-source.yaml': JSON.stringify(grown) });
    expect(pushed).toMatchObject({ code: 403 });
    expect(pushed.text).toContain(TOO_MUCH);
    const write = (data: object) =>
      guarded.patch(
        bob,
        'sharedsecrets',
        'source',
        ({ spec }) => Object.assign(spec, { data }),
        'shared',
      );
    const written = await write(LARGE);
    expect(written).toMatchObject({ code: 422 });
    expect(written.text).toContain(TOO_MUCH);
    expect(JSON.stringify(written)).not.toContain('AAAA');
    expect((await write(TWO)).code).toBe(200);
    expect(dataOf('copy-699')).toEqual(TWO);
  });

  test('a push does not add them', async () => {
    const { guarded, bob } = await guardedBy(shared('source', LARGE));

    const refused = await guarded.push(bob, filesOf(many));

    expect(refused).toMatchObject({ code: 403 });
    expect(refused.text).toContain(TOO_MUCH);
    expect(await guarded.push(bob, filesOf(many.slice(0, 20)))).toMatchObject({ code: 200 });
    expect(dataOf('copy-19')).toEqual(LARGE);
  });

  test('a push looks for them once, however many it adds', async () => {
    const { guarded, bob } = await guardedBy(shared('source', LARGE), ...many.slice(0, 600));
    const lists = vi.spyOn(platform.store, 'list');
    const looks = () => lists.mock.calls.filter(([of]) => of.kind === 'ProjectSecret').length;

    const refused = await guarded.push(bob, filesOf(many.slice(600)));

    expect(refused).toMatchObject({ code: 403 });
    expect(looks()).toBeLessThan(10);
  });

  test('neither several pushes nor creates add them', async () => {
    const { guarded, bob } = await guardedBy(shared('source', LARGE));
    const [first, last, late] = [many.slice(0, 350), many.slice(350), many[671] ?? {}];
    expect(await guarded.push(bob, filesOf(first))).toMatchObject({ code: 200 });

    const refused = await guarded.push(bob, filesOf(last));
    expect(refused).toMatchObject({ code: 403 });
    expect(refused.text).toContain(TOO_MUCH);
    expect(await guarded.push(bob, filesOf(last.slice(0, 321)))).toMatchObject({ code: 200 });
    const created = await guarded.create(bob, 'projectsecrets', late, 'p-web');
    expect(created).toMatchObject({ code: 422 });
    expect(created.text).toContain('672 copies of SharedSecret "shared/source" would have 65 MiB');
  });

  test('creates at the same time do not add them together', async () => {
    const { guarded, bob } = await guardedBy(shared('source', LARGE));

    const made = await Promise.all(
      many.map((copy) => guarded.create(bob, 'projectsecrets', copy, 'p-web')),
    );

    const refused = made.filter(({ code }) => code === 422);
    expect(refused).toHaveLength(29);
    expect(refused[0]?.text).toContain('672 copies of SharedSecret "shared/source"');
    expect(made.filter(({ code }) => code === 200)).toHaveLength(671);
  });

  test('data that grows counts for copies that are made at the same time', async () => {
    const { guarded, bob } = await guardedBy(shared('source', ONE));
    const grow = guarded.patch(
      bob,
      'sharedsecrets',
      'source',
      ({ spec }) => Object.assign(spec, { data: LARGE }),
      'shared',
    );

    const made = await Promise.all(
      many.map((copy) => guarded.create(bob, 'projectsecrets', copy, 'p-web')),
    );

    expect(await grow).toMatchObject({ code: 200 });
    expect(made.filter(({ code }) => code === 200)).toHaveLength(671);
  });
});
