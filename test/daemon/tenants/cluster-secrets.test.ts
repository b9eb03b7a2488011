/** Secrets of clusters served here that follow a project secret. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import type { Attributes, Authorizer } from '../../../src/apimachinery/request.ts';
import type { ScopedAuthorizer } from '../../../src/auth/rbac/scoped-authorizer.ts';
import { type Clusters, ServedClusters } from '../../../src/daemon/tenants/clusters.ts';
import { SECRET } from '../../../src/kinds/kubernetes/secret.ts';
import { MemoryEngine } from '../../../src/state/engines/memory-engine.ts';
import { openStore } from '../../../src/state/open-store.ts';
import { sealingCodec } from '../../../src/state/records/codec.ts';
import type { Store } from '../../../src/state/store.ts';
import { ann, kinds, writeOptions } from '../../support/platform.ts';

const GROUP = 'management.gitplane.dev';
const API = `${GROUP}/v1`;
const BLUE = '/kubernetes/virtualcluster/blue';
const HOST = '/kubernetes/cluster/local';
const LABEL = { 'gitplane.dev/project-secret-name': 'registry' };
const ONE = { token: 'b25l' };
const TWO = { token: 'dHdv', more: 'bW9yZQ==' };

let directory: string;
let store: Store;
let clusters: Clusters;
let asked: Attributes[];
let allowed: boolean;

const fail = (error: unknown): void => {
  throw error;
};
const authorizer: Authorizer = {
  authorize: (_, attributes) => {
    asked.push(attributes);
    return { allowed, reason: '' };
  },
};

function open(): Clusters {
  return new ServedClusters({
    directory: join(directory, 'clusters'),
    stateKey: Buffer.alloc(32),
    kinds,
    store,
    rights: authorizer as unknown as ScopedAuthorizer,
    authorizer,
    projectPrefix: () => 'p-',
    prefix: '/kubernetes',
    clock: Date,
    onError: fail,
  });
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gitplane-cluster-secrets-'));
  const codec = sealingCodec(Buffer.alloc(32), () => false);
  store = await openStore({ engine: new MemoryEngine(), codec, onError: fail });
  [asked, allowed] = [[], true];
  tenant('web');
  clusters = open();
  await clusters.ready();
});
afterEach(async () => {
  await clusters.close();
  rmSync(directory, { recursive: true, force: true });
});

function put(kind: string, namespace: string, name: string, fields: object): void {
  const metadata = { name, ...(namespace === '' ? {} : { namespace }) };
  const object = { apiVersion: API, kind, metadata, ...fields } as KubeObject;
  store.apply([{ type: 'put', key: { group: GROUP, kind, namespace, name }, object }]);
}
const tenant = (project: string | undefined): void =>
  put('Tenant', '', 'blue', {
    spec: { external: { gitplane: project === undefined ? {} : { project } } },
  });
const project = (data: object, status: object = {}, namespace = 'p-web'): void =>
  put('ProjectSecret', namespace, 'registry', { spec: { data }, status });
const follower = (data: object, status: object): void => {
  const labels = { 'gitplane.dev/sharedsecret-name': 'registry' };
  const metadata = { name: 'registry', namespace: 'p-web', labels };
  put('ProjectSecret', 'p-web', 'registry', { metadata, spec: { data }, status });
};

function at(url: string) {
  const surface = clusters.find(url);
  if (surface === undefined) throw new Error(`${url} is not served`);
  return surface;
}
const target = (namespace: string) => ({ kind: SECRET, namespace, name: 'pull' });

async function create(metadata: object = {}, url = BLUE, namespace = 'default'): Promise<unknown> {
  const body = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/dockerconfigjson',
    metadata: { name: 'pull', labels: LABEL, ...metadata },
    data: { '.dockerconfigjson': 'e30=' },
  };
  const of = { kind: SECRET, namespace, body, duplicates: [], options: writeOptions };
  return (await at(url).registry.create(of)).object['data'];
}

async function update(change: (object: KubeObject) => void): Promise<unknown> {
  const { object } = await at(BLUE).registry.update({
    ...target('default'),
    verb: 'patch',
    duplicates: [],
    options: writeOptions,
    change: (current) => {
      const copy = structuredClone(current);
      change(copy);
      return copy;
    },
  });
  return object['data'];
}

const found = (url = BLUE, namespace = 'default'): KubeObject =>
  at(url).registry.get(target(namespace)).object;
const seen = (data: unknown, url = BLUE, namespace = 'default'): Promise<void> =>
  vi.waitFor(() => expect(found(url, namespace)['data']).toEqual(data), { timeout: 10_000 });
/** When every change that is under way has been carried over. */
const settled = (): Promise<unknown> => new Promise((done) => setImmediate(setImmediate, done));

describe('a Secret with the label', () => {
  test('has the data of the project secret at once, and keeps its type', async () => {
    project(ONE);

    expect(await create()).toEqual(ONE);
    expect(found()['type']).toBe('kubernetes.io/dockerconfigjson');
    expect(asked.at(-1)).toMatchObject({
      verb: 'get',
      resource: 'projectsecrets',
      namespace: 'p-web',
    });
  });

  test('follows each change, and reverts changes of others', async () => {
    project(ONE);
    await create();
    project(TWO);
    await seen(TWO);

    expect(await update((object) => Object.assign(object, { data: { own: 'eA==' } }))).toEqual(TWO);
    await settled();
    expect(found()['data']).toEqual(TWO);
  });

  test('a labelled Secret of a control-plane cluster follows in the namespace of a tenant of the project', async () => {
    project(ONE);
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'vcluster-blue' } };
    const kind = at(HOST).kinds.kinds.find((one) => one.kind === 'Namespace');
    if (kind === undefined) throw new Error('no namespaces');
    const options = { duplicates: [], options: writeOptions };
    await at(HOST).registry.create({ kind, namespace: '', body, ...options });

    expect(await create({}, HOST, 'vcluster-blue')).toEqual(ONE);
    expect(await create({}, HOST, 'default')).toEqual({ '.dockerconfigjson': 'e30=' });
    project(TWO);
    await seen(TWO, HOST, 'vcluster-blue');
    expect(found(HOST, 'default')['data']).toEqual({ '.dockerconfigjson': 'e30=' });
  });

  test('is brought up to date by the next start', async () => {
    project(ONE);
    await create();
    await clusters.close();
    project(TWO);
    clusters = open();
    await clusters.ready();
    clusters.follow(() => undefined);

    await seen(TWO);
  });
});

const synced = (status: string): object => ({ conditions: [{ type: 'Synced', status }] });

test('a copy has what git has while a sync with the secret store fails', async () => {
  project(ONE, synced('True'));
  await create();
  project(TWO, synced('False'));
  await seen(TWO);
});

describe('a copy keeps what it had', () => {
  test.each<[string, () => void]>([
    [
      'when the project secret is gone',
      () =>
        store.apply([
          {
            type: 'remove',
            key: { group: GROUP, kind: 'ProjectSecret', namespace: 'p-web', name: 'registry' },
          },
        ]),
    ],
    ['when the project secret has nothing to follow', () => follower({}, synced('False'))],
    [
      'when no key opens it',
      () =>
        project({}, { conditions: [{ type: 'Degraded', status: 'True', reason: 'Unreadable' }] }),
    ],
    ['when the tenant leaves the project', () => tenant(undefined)],
    [
      'when the tenant joins a project whose secrets nobody was asked about',
      () => {
        project(TWO, {}, 'p-other');
        tenant('other');
      },
    ],
  ])('%s', async (_, happen) => {
    project(ONE, synced('True'));
    await create();
    happen();
    await settled();

    expect(found()['data']).toEqual(ONE);
  });

  test('keeps its data under the annotation that opts out, and follows again without it', async () => {
    project(ONE);
    await create();
    await update(({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, 'gitplane.dev/disable-sync': 'true' };
    });
    project(TWO);
    await settled();
    expect(found()['data']).toEqual(ONE);

    await update(({ metadata }) => delete metadata.annotations?.['gitplane.dev/disable-sync']);
    expect(found()['data']).toEqual(TWO);
  });

  test('a project secret that is emptied empties its copy', async () => {
    project(ONE);
    await create();
    project({});

    await seen({});
  });
});

describe('a user without the right to get the project secret', () => {
  test('cannot have it copied by claiming an approval', async () => {
    project(ONE);
    allowed = false;
    const forged = { annotations: { 'gitplane.dev/project-secret-namespace': 'p-web' } };

    await expect(create()).rejects.toThrow(/user "ann" cannot get ProjectSecret "p-web\/registry"/);
    await expect(create(forged)).rejects.toThrow(/cannot get/);
    expect(ann.name).toBe('ann');
    await create({ labels: {}, ...forged });
    await settled();
    expect(found()['data']).toEqual({ '.dockerconfigjson': 'e30=' });
    await expect(
      update(({ metadata }) => {
        metadata.labels = LABEL;
        metadata.annotations = forged.annotations;
      }),
    ).rejects.toThrow(/cannot get/);
  });

  test('cannot wait for the tenant to join a project', async () => {
    tenant(undefined);
    project(ONE);
    allowed = false;
    await create({ annotations: { 'gitplane.dev/project-secret-namespace': 'p-web' } });
    tenant('web');
    await settled();

    expect(found()['data']).toEqual({ '.dockerconfigjson': 'e30=' });
    expect(found().metadata.annotations).toBeUndefined();
  });

  test('gets nothing of a later project secret of the name, and keeps what it has', async () => {
    const life = (uid: string, data: object): void =>
      put('ProjectSecret', 'p-web', 'registry', {
        metadata: { name: 'registry', namespace: 'p-web', uid },
        spec: { data },
      });
    life('first', ONE);
    await create();
    await seen(ONE);
    store.apply([
      {
        type: 'remove',
        key: { group: GROUP, kind: 'ProjectSecret', namespace: 'p-web', name: 'registry' },
      },
    ]);
    life('second', TWO);
    allowed = false;
    await settled();
    expect(found()['data']).toEqual(ONE);
    await update(({ metadata }) => {
      metadata.annotations = { 'gitplane.dev/project-secret-uid': 'second' };
    });
    expect(found()['data']).toEqual(ONE);
    expect(found().metadata.annotations).toMatchObject({
      'gitplane.dev/project-secret-uid': 'first',
    });

    await update(({ metadata }) => {
      metadata.labels = {};
    });
    const follow = () =>
      update(({ metadata }) => {
        metadata.labels = LABEL;
      });
    await expect(follow()).rejects.toThrow(/cannot get/);
    allowed = true;
    expect(await follow()).toEqual(TWO);
  });

  test('needs the right to every name for one that does not exist, and has the first one', async () => {
    await create();
    expect(asked.at(-1)).toMatchObject({ verb: 'get', namespace: 'p-web', name: '' });
    put('ProjectSecret', 'p-web', 'registry', {
      metadata: { name: 'registry', namespace: 'p-web', uid: 'first' },
      spec: { data: ONE },
    });
    await seen(ONE);
    expect(found().metadata.annotations).toMatchObject({
      'gitplane.dev/project-secret-uid': 'first',
    });
  });

  test('may change a Secret that another user had copied', async () => {
    project(ONE);
    await create();
    allowed = false;
    await update(({ metadata }) => Object.assign(metadata.labels ?? {}, { a: 'b' }));

    expect(found().metadata.labels).toMatchObject({ a: 'b' });
  });
});
