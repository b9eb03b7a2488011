import { join } from 'node:path';
import {
  CustomObjectsApi,
  KubeConfig,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

const GROUP = 'management.gitplane.dev';
const RESOURCE = { group: GROUP, version: 'v1', plural: 'teams' };

let daemon: Daemon;
let config: KubeConfig;

beforeAll(async () => {
  daemon = await startDaemon();
  config = new KubeConfig();
  config.loadFromFile(join(daemon.dataDir, 'kubeconfig'));
});

afterAll(async () => {
  await daemon.stop();
});

function team(name: string, displayName: string): object {
  return { apiVersion: `${GROUP}/v1`, kind: 'Team', metadata: { name }, spec: { displayName } };
}

test('the official JavaScript client creates, reads, patches and deletes', async () => {
  const api = config.makeApiClient(CustomObjectsApi);
  const name = 'from-javascript';

  await api.createClusterCustomObject({ ...RESOURCE, body: team(name, 'One') });
  const patch = [{ op: 'replace', path: '/spec/displayName', value: 'Two' }];
  await api.patchClusterCustomObject({ ...RESOURCE, name, body: patch });
  const read = (await api.getClusterCustomObject({ ...RESOURCE, name })) as { spec: object };
  await api.deleteClusterCustomObject({ ...RESOURCE, name });

  expect(read.spec).toEqual({ displayName: 'Two' });
  const gone = await daemon.call('GET', `${API}/teams/${name}`);
  expect(gone.code).toBe(404);
});

test('an informer ends equal to a list, whichever client made the changes', async () => {
  const api = config.makeApiClient(CustomObjectsApi);
  const path = API.slice('/kubernetes/management'.length);
  const list = async () => {
    const answer = await api.listClusterCustomObject(RESOURCE);
    return answer as { items: KubernetesObject[]; kind: string; apiVersion: string };
  };
  const informer = makeInformer(config, `${path}/teams`, list as never);
  const seen = new Map<string, string>();
  let settle: () => void = () => undefined;
  const note = (object: KubernetesObject): void => {
    seen.set(object.metadata?.name ?? '', object.metadata?.resourceVersion ?? '');
    settle();
  };
  informer.on('add', note);
  informer.on('update', note);
  informer.on('delete', (object) => {
    seen.delete(object.metadata?.name ?? '');
    settle();
  });
  await informer.start();

  const names = Array.from({ length: 20 }, (_, i) => `informed-${i}`);
  await Promise.all(
    names.map((name) => daemon.call('POST', `${API}/teams`, { body: team(name, 'One') })),
  );
  const clone = await daemon.clone();
  await daemon.git(['rm', '-q', 'teams/informed-0.yaml', 'teams/informed-1.yaml'], clone);
  await daemon.git(['commit', '-qm', 'Remove two'], clone);
  await daemon.git(['push', '-q'], clone);
  const wanted = new Map(
    (await list()).items.map(({ metadata }) => [metadata?.name, metadata?.resourceVersion]),
  );

  await new Promise<void>((resolve) => {
    settle = () => {
      if ([...wanted].every(([name, version]) => seen.get(name ?? '') === version)) {
        if (seen.size === wanted.size) resolve();
      }
    };
    settle();
  });
  await informer.stop();
  expect(seen.size).toBe(3 + 18);
});
