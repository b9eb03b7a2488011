/** What becomes of synced objects when their tenant goes, or goes somewhere else. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  eventually,
  startTenantClusters,
  type TenantClusters,
} from '../support/tenant-clusters.ts';

let clusters: TenantClusters;
beforeEach(async () => {
  clusters = await startTenantClusters();
});
afterEach(() => clusters.close());

const AT_BLUE = ['db-x-default-x-blue', 'vcluster-blue'] as const;

async function start(spec: object, at: readonly [string, string, string?] = AT_BLUE) {
  clusters.tenant('blue', spec);
  await eventually(() => clusters.loops.states('blue'));
  await clusters.give('blue', 'db');
  await eventually(() => clusters.call('GET', clusters.target(...at)));
}

const gone = (path: string) => async (): Promise<boolean> =>
  (await clusters.call('GET', path)) === undefined;

/** Another cluster with the same tenant in it keeps `local` reachable. */
function keepOpen(...names: string[]): void {
  for (const cluster of names) {
    const external = { gitplane: { cluster } };
    clusters.tenant(`keeper-${cluster}`, { external });
  }
}

function gitplane(settings: object): object {
  return { external: { gitplane: settings } };
}

describe('a tenant that is removed', () => {
  test('takes its synced objects, and nothing else', async () => {
    keepOpen('local');
    await start({});
    const own = clusters.target('', 'vcluster-blue').replace(/\/$/, '');
    await clusters.call('POST', own, {
      ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'foreign' } },
    });
    const found = await clusters.call('GET', clusters.target(...AT_BLUE));
    const { labels, annotations } = found?.metadata ?? {};
    await clusters.call('POST', own, {
      ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'copy', labels, annotations } },
    });
    clusters.tenant('blue', undefined);
    await eventually(gone(clusters.target(...AT_BLUE)));

    for (const name of ['foreign', 'copy']) {
      expect(await clusters.call('GET', `${own}/${name}`)).toBeDefined();
    }
  });

  test('leaves it where its file says so', async () => {
    keepOpen('local');
    await start(gitplane({ deletionPolicy: 'Retain' }));
    clusters.tenant('blue', undefined);
    await eventually(() => clusters.loops.states('blue') === undefined);
    // The next in line: whatever would be removed is, by then.
    clusters.tenant('blue', gitplane({ deletionPolicy: 'Retain' }));
    await eventually(() => clusters.state('blue', 'db')?.state === 'Synced');

    expect(clusters.writes.filter((line) => line.startsWith('DELETE'))).toEqual([]);
  });

  test('is cleaned up by the next process, when no other tenant is left', async () => {
    await start({});
    clusters.judge = ({ method }) =>
      method === 'DELETE' ? { code: 503, reason: 'ServiceUnavailable' } : undefined;
    clusters.tenant('blue', undefined);
    await eventually(() => clusters.log.some((line) => line.includes('cannot be removed yet')));
    const leftovers = async (): Promise<string | undefined> =>
      /gitplane_tenant_leftover_places (\d+)/.exec(await clusters.metrics.metrics())?.[1];
    await eventually(async () => (await leftovers()) === '1');
    await clusters.stop();
    clusters.judge = () => undefined;
    await clusters.start();
    await eventually(() => clusters.log.some((line) => line.includes('"removed":2')));

    await eventually(async () => (await leftovers()) === '0');
    // Nothing leads there any more.
    expect(await gone(clusters.target(...AT_BLUE))()).toBe(true);
  });

  test('a tenant that was removed while no loop ran is cleaned up, unless too many are gone at once', async () => {
    keepOpen('local');
    for (const name of ['blue', 'red']) {
      clusters.tenant(name, {});
      await eventually(() => clusters.loops.states(name));
      await clusters.give(name, 'db');
      await eventually(() => clusters.state(name, 'db')?.state === 'Synced');
    }
    await clusters.stop();
    clusters.tenant('blue', undefined);
    await clusters.start();
    await eventually(gone(clusters.target(...AT_BLUE)));
    await clusters.stop();
    clusters.tenant('red', undefined);
    clusters.tenant('keeper-local', undefined);
    await clusters.start();
    await eventually(() =>
      clusters.log.some((line) => line.includes('What they have synced stays')),
    );

    // `local` is there, though no tenant names it any more.
    const red = clusters.target('db-x-default-x-red', 'vcluster-red');
    expect(await clusters.call('GET', red)).toBeDefined();
  });

  test('a removed tenant that comes back at once has its objects', async () => {
    await start({});
    clusters.tenant('blue', undefined);
    clusters.tenant('blue', {});
    await eventually(() => clusters.state('blue', 'db')?.state === 'Synced');

    await eventually(() => clusters.call('GET', clusters.target(...AT_BLUE)));
  });

  test('is cleaned up after with a kubeconfig that went with it', async () => {
    keepOpen('local');
    await start({});
    const server = await eventually(() => clusters.doorUrl);
    const text = stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: `${server}/kubernetes/cluster/local` } }],
      users: [{ name: 'u', user: { token: 't' } }],
    });
    clusters.sharedSecret('red', { config: text });
    const sharedSecret = { namespace: 'default', name: 'red', key: 'config' };
    clusters.tenant('red', gitplane({ target: { kubeconfig: { sharedSecret } } }));
    await eventually(() => clusters.loops.states('red'));
    await clusters.give('red', 'db');
    const target = clusters.target('db-x-default-x-red', 'vcluster-red');
    await eventually(() => clusters.call('GET', target));
    clusters.tenant('red', undefined);
    clusters.sharedSecret('red', undefined);

    await eventually(gone(target));
  });
});

describe('a tenant that goes somewhere else', () => {
  test('a tenant that moves to another namespace takes its objects along', async () => {
    await start({});
    clusters.tenant('blue', gitplane({ namespace: 'elsewhere' }));
    await eventually(() => clusters.call('GET', clusters.target(AT_BLUE[0], 'elsewhere')));

    await eventually(gone(clusters.target(...AT_BLUE)));
  });

  test('a tenant that moves to another cluster takes its objects along', async () => {
    keepOpen('local');
    await start({});
    clusters.tenant('blue', gitplane({ cluster: 'other' }));
    await eventually(() => clusters.call('GET', clusters.target(...AT_BLUE, 'other')));

    await eventually(gone(clusters.target(...AT_BLUE)));
  });

  test('a tenant that moves from one namespace to many, and back, leaves nothing behind', async () => {
    await start({});
    const mappings = { byName: { default: 'blue-default' } };
    clusters.tenant('blue', { sync: { toHost: { namespaces: { enabled: true, mappings } } } });
    await eventually(() => clusters.call('GET', clusters.target('db', 'blue-default')));
    await eventually(gone(clusters.target(...AT_BLUE)));
    clusters.tenant('blue', {});
    await eventually(() => clusters.call('GET', clusters.target(...AT_BLUE)));

    await eventually(gone(clusters.target('db', 'blue-default')));
  });

  test('a tenant that is reached by another kubeconfig keeps every object', async () => {
    await start({});
    const uid = (await clusters.call('GET', clusters.target(...AT_BLUE)))?.metadata.uid;
    const config = stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [
        { name: 'c', cluster: { server: `${clusters.doorUrl}/kubernetes/cluster/local` } },
      ],
      users: [{ name: 'u', user: { token: 't' } }],
    });
    clusters.sharedSecret('host', { config });
    const sharedSecret = { namespace: 'default', name: 'host', key: 'config' };
    clusters.tenant('blue', gitplane({ target: { kubeconfig: { sharedSecret } } }));
    await eventually(() => clusters.log.some((line) => line.includes('"removed":0')));
    await eventually(() => clusters.state('blue', 'db')?.state === 'Synced');

    expect((await clusters.call('GET', clusters.target(...AT_BLUE)))?.metadata.uid).toBe(uid);
  });
});

describe('a kubeconfig in a SharedSecret', () => {
  const sharedSecret = { namespace: 'default', name: 'host', key: 'config' };
  const configOf = (token: string): string =>
    stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [
        { name: 'c', cluster: { server: `${clusters.doorUrl}/kubernetes/cluster/local` } },
      ],
      users: [{ name: 'u', user: { token } }],
    });

  test('a kubeconfig that is removed from a SharedSecret stops the sync with a reason; a new one resumes it', async () => {
    clusters.tenant('blue', gitplane({ target: { kubeconfig: { sharedSecret } } }));
    await eventually(() => clusters.status('blue')?.reason === 'Kubeconfig');
    expect(clusters.status('blue')?.message).toBe(
      'there is no key "config" in SharedSecret "default/host"',
    );
    clusters.sharedSecret('host', { config: configOf('one') });
    await eventually(() => clusters.loops.states('blue'));
    await clusters.give('blue', 'db');
    await eventually(() => clusters.state('blue', 'db')?.state === 'Synced');
    clusters.sharedSecret('host', undefined);
    await eventually(() => clusters.status('blue')?.reason === 'Kubeconfig');

    // Nothing is removed: the tenant is still there.
    expect(await clusters.call('GET', clusters.target(...AT_BLUE))).toBeDefined();
    clusters.sharedSecret('host', { config: 'no: kubeconfig\nsecret: hunter2' });
    await eventually(() => clusters.status('blue')?.message?.includes('no context'));
    expect(JSON.stringify([clusters.status('blue'), clusters.log])).not.toContain('hunter2');
  });

  test('a kubeconfig in a SharedSecret that changes is used from then on', async () => {
    clusters.sharedSecret('host', { config: configOf('one') });
    clusters.tenant('blue', gitplane({ target: { kubeconfig: { sharedSecret } } }));
    await eventually(() => clusters.loops.states('blue'));
    await eventually(() => clusters.tokens.has('one'));
    clusters.sharedSecret('host', { config: configOf('two') });
    await eventually(() => clusters.tokens.has('two'));
    await clusters.give('blue', 'db');

    await eventually(() => clusters.state('blue', 'db')?.state === 'Synced');
  });
});
