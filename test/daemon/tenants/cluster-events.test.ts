/** Events in clusters that are served here: news, which end after an hour. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import type { ScopedAuthorizer } from '../../../src/auth/rbac/scoped-authorizer.ts';
import { ServedClusters } from '../../../src/daemon/tenants/clusters.ts';
import { EVENT } from '../../../src/kinds/kubernetes/event.ts';
import { recordEvent } from '../../../src/tenant-sync/sync-events.ts';
import { kinds } from '../../support/platform.ts';

const MINUTE = 60_000;

test('an event is there for an hour, and a newer one stays', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'events-'));
  let now = Date.parse('2026-11-21T12:00:00Z');
  const tenant = { metadata: { name: 'blue', uid: 'u' }, spec: {} };
  const clusters = new ServedClusters({
    directory,
    stateKey: Buffer.alloc(32),
    kinds,
    store: {
      list: () => ({ resourceVersion: 1, items: [{ object: tenant }] }) as never,
      get: () => undefined,
      observe: () => () => undefined,
    },
    rights: {} as ScopedAuthorizer,
    authorizer: {} as never,
    projectPrefix: () => 'p-',
    prefix: '/kubernetes',
    clock: { now: () => now },
    onError: (error) => {
      throw error;
    },
  });
  await clusters.ready();
  const surface = clusters.find('/kubernetes/virtualcluster/blue');
  const options = { user: { name: 'sync', groups: [] }, dryRun: false, fieldValidation: 'Strict' };
  const record = async (name: string): Promise<void> => {
    const about = {
      ...{ apiVersion: 'v1', kind: 'Endpoints' },
      metadata: { namespace: 'default', name, uid: 'u' },
    };
    const create = async (_of: object, body: KubeObject): Promise<KubeObject> => {
      const request = { kind: EVENT, namespace: 'default', body, duplicates: [], options };
      return (await surface?.registry.create(request as never))?.object as KubeObject;
    };
    const event = { type: 'Warning', reason: 'SyncError', message: 'x', time: now } as const;
    await recordEvent({ create }, about, event);
  };
  const names = (): string[] =>
    (surface?.store.list({ group: '', kind: 'Event' }).items ?? []).map(({ key }) =>
      key.name.replace(/\..*/, ''),
    );
  await record('old');
  now += 50 * MINUTE;
  await record('new');
  expect(names().sort()).toEqual(['new', 'old']);
  now += 9 * MINUTE;
  await clusters.removeOldEvents();
  expect(names().sort()).toEqual(['new', 'old']);
  now += 2 * MINUTE;
  await clusters.removeOldEvents();

  expect(names()).toEqual(['new']);
  await clusters.close();
  await rm(directory, { recursive: true });
});
