/** Data that outlives a stop, the loss of the state directory, and a history that nobody checked. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { commitFiles, gitIn, manifest } from './clones.ts';
import { changedObject, collectionPath, objectOf, SAMPLES } from './samples.ts';

const TEAMS = `${API}/teams`;
const MERGE_PATCH = 'application/merge-patch+json';

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

// biome-ignore lint/suspicious/noExplicitAny: tests reach into objects of every shape
type Any = any;

/** Every object of every kind, by kind. */
async function everything(): Promise<Record<string, Any[]>> {
  const lists = await Promise.all(
    SAMPLES.map(async (sample) => {
      const base = sample.group.startsWith('rbac') ? RBAC : API;
      const answer = await daemon.call('GET', `${base}/${sample.plural}`);
      return [sample.kind, answer.json().items] as const;
    }),
  );
  return Object.fromEntries(lists);
}

/** As JSON, without the last use of keys and all that `gone` names besides. */
function comparable(objects: Record<string, Any[]>, gone: readonly string[] = []): string {
  const replacer = (key: string, value: Any): Any => {
    // One with `Ready` alone is that of a key that nobody has used.
    const others = Object.keys(value ?? {}).filter((name) => name !== 'conditions');
    const isOfUse = value?.lastActivity !== undefined || others.length === 0;
    if (key === 'status' && isOfUse && (value?.conditions ?? []).length <= 1) return undefined;
    return gone.includes(key) ? undefined : value;
  };
  return JSON.stringify(objects, replacer, 1);
}

/** Fields that a rebuild may change: versions, and times of observation. */
const REBUILT = ['resourceVersion', 'lastTransitionTime', 'managedFields'];

function versions(objects: Record<string, Any[]>): number[] {
  return Object.values(objects).flatMap((items) =>
    items.map(({ metadata }) => Number(metadata.resourceVersion)),
  );
}

/** Of the log and of the readiness check of a daemon whose state is gone. */
const LOSS = 'The state was empty at the start, and is rebuilt from git';

async function readiness(): Promise<string> {
  const { code, text } = await daemon.call('GET', '/readyz?verbose');
  expect(code).toBe(200);
  return text;
}

async function stop(): Promise<void> {
  expect(await daemon.stop()).toBe(0);
}

async function start(): Promise<void> {
  daemon = await startDaemon({ dataDir: daemon.dataDir });
}

async function call(method: string, path: string, body?: object): Promise<Any> {
  const type = method === 'PATCH' ? MERGE_PATCH : 'application/json';
  const answer = await daemon.call(method, path, body === undefined ? {} : { body, type });
  expect(answer.code, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
  return answer.json();
}

/** Moves the branch to what the clone has, past every hook, as an older history would have it. */
async function bypass(clone: string): Promise<void> {
  const bare = join(daemon.dataDir, 'repo.git');
  await git(bare, 'fetch', '-q', clone, 'main');
  await git(bare, 'update-ref', 'refs/heads/main', await git(clone, 'rev-parse', 'HEAD'));
}

function commit(clone: string, files: Record<string, string | null>): Promise<void> {
  return commitFiles(daemon, clone, files);
}

function git(folder: string, ...args: string[]): Promise<string> {
  return gitIn(daemon, folder, ...args);
}

function team(name: string, spec?: string): string {
  return manifest('Team', name, spec);
}

/** All but `Ready`, which follows from them. */
async function conditions(name: string): Promise<Any[]> {
  const all: Any[] = (await call('GET', `${TEAMS}/${name}`)).status?.conditions ?? [];
  return all.filter(({ type }) => type !== 'Ready');
}

test('a stop and a start change nothing, not even a resourceVersion', async () => {
  for (const sample of SAMPLES) {
    const collection = collectionPath(sample, API);
    await call('POST', collection, objectOf(sample, 'zz-kept'));
    await call('PUT', `${collection}/zz-kept`, {
      ...changedObject(sample, 'zz-kept'),
      metadata: (await call('GET', `${collection}/zz-kept`)).metadata,
    });
  }
  await call('POST', TEAMS, {
    metadata: { name: 'zz-terminating', finalizers: ['example.com/wait'] },
    spec: {},
  });
  await call('DELETE', `${TEAMS}/zz-terminating`);
  const before = await everything();
  const { resourceVersion } = (await call('GET', TEAMS)).metadata;
  const { token } = daemon;
  const jwks = (await daemon.call('GET', '/.well-known/jwks.json')).text;
  await stop();
  await start();

  const used = (objects: Record<string, Any[]>): Record<string, Any[]> => ({
    ...objects,
    OwnedAccessKey:
      objects['OwnedAccessKey']?.filter(({ metadata: { name } }) => name !== 'admin') ?? [],
  });
  expect(comparable(used(await everything()))).toBe(comparable(used(before)));
  expect(await readiness()).not.toContain('[!]state');
  expect(daemon.output()).not.toContain(LOSS);
  expect(daemon.token).toBe(token);
  expect((await daemon.call('GET', '/.well-known/jwks.json')).text).toBe(jwks);
  expect(Number((await call('GET', TEAMS)).metadata.resourceVersion)).toBeGreaterThanOrEqual(
    Number(resourceVersion),
  );
  const gone = await call('PATCH', `${TEAMS}/zz-terminating`, { metadata: { finalizers: null } });
  expect(gone.metadata.name).toBe('zz-terminating');
  expect((await daemon.call('GET', `${TEAMS}/zz-terminating`)).code).toBe(404);
});

describe('a running daemon whose branch gets a broken manifest', () => {
  test('keeps the last good version, names the broken place, and applies the rest', async () => {
    const clone = await daemon.clone();
    await commit(clone, {
      'pair.yaml': `${team('zz-first', '{ displayName: Good }')}---\n${team('zz-second')}`,
    });
    await git(clone, 'push', '-q');
    const good = await call('GET', `${TEAMS}/zz-first`);
    await commit(clone, {
      'pair.yaml': `${team('zz-first', '{ displayNam: Bad }')}---\n${team('zz-second', '{ description: applied }')}`,
      'teams/beside.yaml': team('zz-beside'),
    });
    await bypass(clone);
    await vi.waitFor(async () => expect(await conditions('zz-first')).toHaveLength(1), {
      interval: 20,
    });

    const degraded = await call('GET', `${TEAMS}/zz-first`);
    expect(degraded).toMatchObject({
      spec: good.spec,
      metadata: { uid: good.metadata.uid, generation: 1 },
    });
    expect(degraded.status.conditions[0]).toMatchObject({
      type: 'Degraded',
      status: 'True',
      reason: 'ManifestInvalid',
      message: expect.stringMatching(/^pair\.yaml:5:9: .*displayNam.*did you mean "displayName"/),
    });
    expect(await conditions('zz-second')).toEqual([]);
    expect((await call('GET', `${TEAMS}/zz-second`)).spec).toEqual({ description: 'applied' });
    expect((await call('GET', `${TEAMS}/zz-beside`)).metadata.generation).toBe(1);
    expect((await daemon.call('GET', '/metrics')).text).toMatch(
      /objects\{[^}]*kind="Team"[^}]*health="degraded"[^}]*\} 1\n/,
    );
  });

  test('prunes nothing by a syntax error', async () => {
    const clone = await daemon.clone();
    await commit(clone, { 'pair.yaml': 'kind: [\n' });
    await bypass(clone);
    await vi.waitFor(
      async () =>
        expect((await conditions('zz-second'))[0]?.message).toMatch(/^pair\.yaml:\d+:\d+: /),
      { interval: 20 },
    );
    expect((await call('GET', `${TEAMS}/zz-first`)).spec).toEqual({ displayName: 'Good' });
    const write = await daemon.call('PATCH', `${TEAMS}/zz-second`, {
      body: { spec: { users: ['ada'] } },
      type: MERGE_PATCH,
    });
    expect([write.code, write.json().message]).toEqual([
      409,
      expect.stringMatching(/repaired in git: pair\.yaml:\d+:\d+: /),
    ]);
    await call('POST', TEAMS, { metadata: { name: 'zz-still-works' }, spec: {} });
  });

  test('heals with the next good version', async () => {
    const clone = await daemon.clone();
    await commit(clone, {
      'pair.yaml': `${team('zz-first', '{ displayName: Mended }')}---\n${team('zz-second')}`,
    });
    expect((await daemon.git(['push'], clone)).stderr).toContain('accepted');
    expect(await call('GET', `${TEAMS}/zz-first`)).toMatchObject({
      spec: { displayName: 'Mended' },
      metadata: { generation: 2 },
    });
    expect([await conditions('zz-first'), await conditions('zz-second')]).toEqual([[], []]);
  });
});

describe('any history', () => {
  let key: string;

  /** Creates, patches, deletions, recreations, moves, merges; pushed, by API, and past the hooks. */
  async function makeHistory(): Promise<void> {
    for (const sample of SAMPLES) {
      const collection = collectionPath(sample, API);
      for (const name of ['zz-a', 'zz-b', 'zz-c'])
        await call('POST', collection, objectOf(sample, name));
      const { field, value } = sample.change;
      await call('PATCH', `${collection}/zz-a`, {
        [field]: value,
        metadata: { annotations: { n: '1' } },
      });
      await call('PATCH', `${collection}/zz-a`, { metadata: { labels: { m: '2' } } });
      await call('DELETE', `${collection}/zz-b`);
      await call('POST', collection, objectOf(sample, 'zz-b'));
      await call('DELETE', `${collection}/zz-c`);
    }
    const spec = { user: 'admin' };
    key = (await call('POST', `${API}/ownedaccesskeys`, { metadata: { name: 'zz-key' }, spec }))
      .spec.key;

    const clone = await daemon.clone();
    await commit(clone, {
      'many.yaml': `${team('zz-m1')}---\n${team('zz-m2')}---\n${team('zz-m3')}`,
    });
    await commit(clone, {
      'many.yaml': `${team('zz-m1', '{ displayName: Two }')}---\n${team('zz-m3')}`,
      'moved/m2.yaml': team('zz-m2'),
    });
    await commit(clone, {
      'many.yaml': null,
      'm1.yaml': team('zz-m1', '{ displayName: Two }'),
      'm3.yaml': team('zz-m3'),
    });
    await commit(clone, { 'm3.yaml': null });
    await commit(clone, { 'm3-again.yaml': team('zz-m3', '{ description: another life }') });
    await git(clone, 'push', '-q');

    await git(clone, 'checkout', '-qb', 'side', 'HEAD~2');
    await commit(clone, {
      'side.yaml': team('zz-side'),
      'm1.yaml': team('zz-m1', '{ displayName: Side }'),
    });
    await git(clone, 'checkout', '-q', 'main');
    await call('PATCH', `${TEAMS}/zz-a`, { spec: { description: 'by the API meanwhile' } });
    await git(clone, 'pull', '-q', '--rebase');
    await git(clone, 'merge', '-q', '--no-ff', '--no-edit', 'side');
    await git(clone, 'push', '-q');

    await commit(clone, { 'broken.yaml': `${team('zz-x1')}---\n${team('zz-x2')}` });
    await commit(clone, {
      'broken.yaml': `${team('zz-x1', '{ nonsense: 1 }')}---\n${team('zz-x2', '{ users: [ada] }')}`,
    });
    await commit(clone, { 'broken.yaml': 'a: [' });
    await commit(clone, {
      'broken.yaml': `${team('zz-x1', '{ nonsense: 1 }')}---\n${team('zz-x2', '{ users: [ada] }')}`,
      'twice.yaml': team('zz-m1'),
    });
    await bypass(clone);
    await vi.waitFor(async () => expect(await conditions('zz-x1')).toHaveLength(1), {
      interval: 20,
    });
    await call('PATCH', `${TEAMS}/zz-x2`, { metadata: { annotations: { after: 'the break' } } });
  }

  test('deleting the state directory changes no uid, time, generation, spec or label', async () => {
    await makeHistory();
    const before = await everything();
    expect(before['Team']?.length).toBeGreaterThan(15);
    const served = Math.max(
      ...versions(before),
      Number((await call('GET', TEAMS)).metadata.resourceVersion),
    );
    for (let round = 0; round < 2; round++) {
      await stop();
      await rm(join(daemon.dataDir, 'state'), { recursive: true });
      await start();

      expect(await readiness()).toContain(`[!]state degraded: ${LOSS}`);
      await expect.poll(() => daemon.output()).toContain(LOSS);
      const after = await everything();
      expect(comparable(after, REBUILT)).toBe(comparable(before, REBUILT));
      expect(Math.min(...versions(after))).toBeGreaterThan(served);
    }
  });

  test('keys work as before', async () => {
    expect((await daemon.call('GET', TEAMS, { token: key })).code).toBe(200);
  });

  test('a watch from before ends with the demand to list again', async () => {
    const answer = await daemon.call('GET', `${TEAMS}?watch=1&resourceVersion=5&timeoutSeconds=1`);
    expect(JSON.parse(answer.text)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
  });
});
