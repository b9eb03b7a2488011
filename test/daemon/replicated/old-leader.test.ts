/**
 * A leader whose term is over, or ends while it prepares something, does nothing outside: the peers
 * are real servers, and tell what reached them.
 */

import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { EventRing } from '../../../src/apimachinery/object-events.ts';
import { fileReader } from '../../../src/catalog/file-reader.ts';
import { Counter } from '../../../src/concurrency/progress.ts';
import { secretStoreBlocks } from '../../../src/config/secret-stores.ts';
import { openSecretStoreSync } from '../../../src/daemon/background/secret-store-sync.ts';
import { openFollowed } from '../../../src/daemon/repository/followed-repository.ts';
import type { Etcd, TxnRequest } from '../../../src/etcd/etcd.ts';
import { openEtcd } from '../../../src/etcd/open-etcd.ts';
import { parseRemoteAddress } from '../../../src/git/remote/address.ts';
import { History } from '../../../src/history/history.ts';
import { Suspensions } from '../../../src/registry/suspensions.ts';
import { keysBelow } from '../../../src/replication/keys.ts';
import { RepositoryLog } from '../../../src/replication/repository-log.ts';
import { type Term, TermEndedError } from '../../../src/replication/term.ts';
import { openEtcdEngine } from '../../../src/state/engines/etcd/engine.ts';
import { sealingCodec } from '../../../src/state/records/codec.ts';
import { secret } from '../../secret-store-sync/synced-platform.ts';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../../support/etcd.ts';
import { commitOf, publish, temporaryFolder } from '../../support/git.ts';
import { startKvServer } from '../../support/kv-server.ts';
import { kindOf, kinds, openTestPlatform, writeOptions } from '../../support/platform.ts';
import { elsewhere, serveGit } from '../../support/remote.ts';
import { eventually, startTenantClusters } from '../../support/tenant-clusters.ts';

const logger = pino({ level: 'silent' });

/** A term that a test ends: by the clock alone, as after a pause, or with everybody told. */
class TestTerm implements Term {
  readonly number = 1n;
  readonly fence: Term['fence'];
  readonly #over = new AbortController();
  isOver = false;
  refusals = 0;

  constructor(fence: Term['fence'] = []) {
    this.fence = fence;
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  isHeld(): boolean {
    const isHeld = !this.isOver && !this.signal.aborted;
    if (!isHeld) this.refusals += 1;
    return isHeld;
  }

  end(): void {
    this.#over.abort();
  }
}

describe('a secret store', () => {
  async function open() {
    const server = await startKvServer();
    onTestFinished(() => server.close());
    const mount = server.store.mount('secret/');
    const requests: string[] = [];
    const handle = server.store.handle.bind(server.store);
    server.store.handle = (request) => {
      requests.push(`${request.method} ${request.path}`);
      return handle(request);
    };
    const platform = await openTestPlatform();
    const { repository, branch, store, registry } = platform;
    const history = new History({
      repository,
      branch,
      kinds,
      reader: fileReader(kinds, ''),
      under: '',
    });
    onTestFinished(() => history.close());
    const configured = { enabled: true, address: server.address, auth: { token: 'root' } };
    const secretStore = { ...configured, syncInterval: '1h' };
    const term = new TestTerm();
    const { sync, close } = openSecretStoreSync({
      ...{ kinds, store, branch, registry, history, isReviewed: false, logger, clock: Date },
      options: { environment: {}, credentialFolders: [] },
      suspensions: new Suspensions({ store, clock: Date }),
      data: { stateKey: `${temporaryFolder()}/state.key` },
      config: {
        secretStores: secretStoreBlocks({ secretStore }),
        subscribe: () => () => undefined,
        onMissingVariables: () => undefined,
        reportSecretStore: () => undefined,
        reportPulls: () => undefined,
      },
      observation: { metrics: { registry: new Registry() } as never },
      events: new EventRing(),
      replicated: { term },
    });
    onTestFinished(close);
    const cycle = (): Promise<void> => sync.syncNow({ allowDeletions: false });
    const edit = async (data: Readonly<Record<string, string>>): Promise<void> => {
      const made = secret('mail', data, { direction: 'push' }) as { spec: object };
      await registry.update({
        ...{ verb: 'patch', kind: kindOf('sharedsecrets'), namespace: 'default', name: 'mail' },
        ...{ duplicates: [], options: writeOptions },
        change: (current) => ({ ...structuredClone(current), spec: made.spec as never }),
      });
    };
    await platform.create(
      'sharedsecrets',
      secret('mail', { key: 'one' }, { direction: 'push' }),
      'default',
    );
    await cycle();
    expect(mount.live('app/mail')).toEqual({ key: 'one' });
    return { mount, requests, term, cycle, edit };
  }

  test('is asked nothing once the term is over', async () => {
    const { mount, requests, term, cycle, edit } = await open();
    const before = requests.length;
    term.isOver = true;
    await edit({ key: 'two' });
    await cycle();

    expect(requests.slice(before)).toEqual([]);
    expect(mount.live('app/mail')).toEqual({ key: 'one' });
  });

  test('takes no write that was prepared when the term ended', async () => {
    const { mount, requests, term, cycle, edit } = await open();
    const before = requests.length;
    const isRead = (request: string): boolean => request === 'GET /v1/secret/data/app/mail';
    vi.spyOn(term, 'isHeld').mockImplementation(() => !requests.slice(before).some(isRead));
    await edit({ key: 'two' });
    await cycle();

    expect(requests.slice(before).filter(isRead)).toHaveLength(1);
    expect(requests.slice(before).filter((request) => !request.startsWith('GET'))).toEqual([]);
    expect(mount.live('app/mail')).toEqual({ key: 'one' });
  });
});

test('a tenant cluster that is reached by a kubeconfig takes no write of an old leader', async () => {
  const term = new TestTerm();
  const clusters = await startTenantClusters();
  onTestFinished(() => clusters.close());
  await clusters.stop();
  clusters.term = term;
  await clusters.start();
  const server = `${clusters.doorUrl}/kubernetes/cluster/local`;
  const config = stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: 't' } }],
  });
  clusters.sharedSecret('host', { config });
  const sharedSecret = { namespace: 'default', name: 'host', key: 'config' };
  const target = { kubeconfig: { sharedSecret } };
  clusters.tenant('blue', { external: { gitplane: { target } } });
  await eventually(() => clusters.loops.states('blue'));
  await clusters.give('blue', 'db');
  await eventually(() => clusters.state('blue', 'db')?.state === 'Synced');
  await eventually(() => clusters.serviceState('blue', 'db')?.state === 'Synced');
  const before = [...clusters.writes];
  expect(before.length).toBeGreaterThan(0);

  term.isOver = true;
  await clusters.give('blue', 'late');
  await eventually(() => term.refusals > 0);

  expect(clusters.writes).toEqual(before);
  expect(
    await clusters.call('GET', clusters.target('late-x-default-x-blue', 'vcluster-blue')),
  ).toBe(undefined);
});

test('a followed remote gets no push of an old leader, also of one that waited for its turn', async () => {
  const there = elsewhere();
  const server = await serveGit({ gitDir: there.gitDir });
  const term = new TestTerm();
  let endsWithFetch = false;
  const fetched = (): void => {
    term.isOver = endsWithFetch;
  };
  const observer = { fetched, pushed: () => undefined };
  const { repository, following } = await openFollowed({
    source: { address: parseRemoteAddress(server.url), access: {} } as never,
    gitDir: `${temporaryFolder()}/mirror.git`,
    branch: 'main',
    observation: { observer } as never,
    signatures: { sign: undefined, judge: undefined },
    logger,
    term,
    maxPaths: 1000,
    counter: new Counter(),
    suspended: () => undefined,
  });
  onTestFinished(() => repository.close());
  onTestFinished(() => following.close());
  const pushes = (): number => server.requests.filter((one) => /^POST.*receive/.test(one)).length;
  await publish(repository, commitOf({ a: '1' }));
  const before = [pushes(), there.head()];
  expect(before[0]).toBeGreaterThan(0);

  // The push waits for the fetch, and the term ends meanwhile.
  endsWithFetch = true;
  const refreshed = following.refresh();
  const waited = publish(repository, commitOf({ b: '2' }));
  await expect(waited).rejects.toThrow(TermEndedError);
  await refreshed;
  await expect(publish(repository, commitOf({ c: '3' }))).rejects.toThrow(TermEndedError);

  expect([pushes(), there.head()]).toEqual(before);
  expect(await repository.head()).toBe(there.head());
});

describe.skipIf(ETCD_MISSING !== undefined)(`etcd ${ETCD_MISSING ?? ''}`, () => {
  const codec = sealingCodec(Buffer.alloc(32, 7), () => true);
  let cluster: EtcdCluster;
  let etcd: Etcd;
  let written: TxnRequest[] = [];

  beforeAll(async () => {
    cluster = await startEtcd({ noFsync: true });
    const real = await openEtcd({ endpoints: cluster.endpoints });
    etcd = new Proxy(real, {
      get: (target, name) => {
        if (name === 'txn') {
          return async (request: TxnRequest) => {
            const answer = await target.txn(request);
            if (answer.succeeded) written.push(request);
            return answer;
          };
        }
        const value = Reflect.get(target, name, target) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  });

  afterAll(async () => {
    await etcd.close();
    await cluster.stop();
  });

  async function lead(prefix: string) {
    const keys = keysBelow(prefix);
    const { revision } = await etcd.txn({
      compare: [],
      operations: [{ put: keys.leader, value: Buffer.from('{}') }],
    });
    const term = new TestTerm([{ key: keys.leader, createRevision: revision }]);
    const log = await RepositoryLog.open({ etcd, keys, codec, term, logger });
    const engine = await openEtcdEngine({
      ...{ etcd, prefix: keys.platformState, fence: term.fence, signal: term.signal },
      ended: () => new TermEndedError(),
      onError: () => undefined,
    });
    onTestFinished(() => engine.close().catch(() => undefined));
    const commit = (to: string): Promise<void> =>
      log.append({ from: log.head?.commit, to, pack: Buffer.from('p'), index: undefined });
    const put = async (key: string): Promise<void> => {
      engine.write([{ key, value: Buffer.from('v') }]);
      await engine.flush();
    };
    await commit('a'.repeat(40));
    await put('one');
    written = [];
    return { keys, term, commit, put };
  }

  test('takes no commit of a leader whose clock says that the lease is over', async () => {
    const { term, commit } = await lead('/clock/');
    term.isOver = true;

    await expect(commit('b'.repeat(40))).rejects.toThrow(TermEndedError);
    expect(written).toEqual([]);
  });

  test('takes no commit and no state of a leader that was told', async () => {
    const { term, commit, put } = await lead('/told/');
    term.end();

    await expect(commit('b'.repeat(40))).rejects.toThrow(TermEndedError);
    await expect(put('two')).rejects.toThrow(TermEndedError);
    expect(written).toEqual([]);
  });

  test('takes none of a leader that knows nothing of the next one', async () => {
    const { keys, commit, put } = await lead('/unaware/');
    await cluster.ctl(['del', keys.leader]);
    await cluster.ctl(['put', keys.leader, '{}']);

    await expect(commit('b'.repeat(40))).rejects.toThrow(TermEndedError);
    await expect(put('two')).rejects.toThrow(TermEndedError);
    expect(written).toEqual([]);
  });
});
