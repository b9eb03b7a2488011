/**
 * Tenants, their clusters and their loops in this process: what the daemon runs, without git and
 * the network. Every request of a loop passes a door where a test can see it, answer in its place,
 * or have it wait.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { expect } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { FailedLogins } from '../../src/auth/rate-limits/failed-logins.ts';
import type { ScopedAuthorizer } from '../../src/auth/rbac/scoped-authorizer.ts';
import { DEFAULTS } from '../../src/config/config-feed.ts';
import { clusterSocket } from '../../src/daemon/tenants/cluster-socket.ts';
import { ServedClusters } from '../../src/daemon/tenants/clusters.ts';
import { TenantLoops } from '../../src/daemon/tenants/tenant-loops.ts';
import { PatchEngine } from '../../src/endpoint-patches/engine.ts';
import { CLIENT_KINDS, CORE_KINDS } from '../../src/kinds/kubernetes/tables.ts';
import type { ClusterAccess } from '../../src/kubernetes-client/cluster-access.ts';
import type { Branch } from '../../src/registry/branch.ts';
import type { Term } from '../../src/replication/term.ts';
import type { ServerDependencies } from '../../src/server/dependencies.ts';
import { FlowClassifier } from '../../src/server/filters/flow-classifier.ts';
import { MemoryEngine } from '../../src/state/engines/memory-engine.ts';
import { openStore } from '../../src/state/open-store.ts';
import { sealingCodec } from '../../src/state/records/codec.ts';
import type { Store } from '../../src/state/store.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { createTenantMetrics } from '../../src/telemetry/tenant-metrics.ts';
import { kinds } from './platform.ts';

/** Of the platform: no request for a cluster asks for it. */
function unused(): never {
  return undefined as never;
}

const noop = (): void => undefined;
const GROUP = 'management.gitplane.dev';

/** What a test answers in the place of a cluster. */
export interface Fault {
  readonly code: number;
  readonly reason: string;
  readonly retryAfter?: number;
}

type Judge = (request: { method: string; path: string }) => Fault | undefined | Promise<undefined>;

export interface SyncState {
  readonly state: string;
  readonly reason?: string;
  readonly message?: string;
}

interface Given {
  readonly namespace?: string;
  readonly metadata?: object;
  readonly subsets?: readonly object[];
}

export class TenantClusters {
  readonly directory: string;
  readonly log: string[] = [];
  /** `POST /kubernetes/cluster/local/api/v1/…` of each request of a loop, but no list and watch. */
  readonly writes: string[] = [];
  judge: Judge = () => undefined;
  /** Of the replica that runs the loops from the next start on; undefined: it is alone. */
  term: Term | undefined;
  /** By which the loops said who they are. */
  readonly tokens = new Set<string>();
  /** Where the door is, for kubeconfigs. */
  doorUrl = '';
  readonly metrics = new Registry();
  #store: Store | undefined;
  #loops: TenantLoops | undefined;
  #undo: (() => Promise<void>)[] = [];
  #direct: ClusterAccess | undefined;
  readonly #runner = new PatchEngine({ threads: 1 });
  readonly #referenceNames: 'short' | 'concat';

  constructor(directory: string, referenceNames: 'short' | 'concat') {
    this.directory = directory;
    this.#referenceNames = referenceNames;
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error('Not started');
    return this.#store;
  }

  get loops(): TenantLoops {
    if (this.#loops === undefined) throw new Error('Not started');
    return this.#loops;
  }

  async start(): Promise<void> {
    const onError = (error: unknown): void => {
      throw error;
    };
    const codec = sealingCodec(Buffer.alloc(32), () => false);
    this.#store ??= await openStore({ engine: new MemoryEngine(), codec, onError });
    const rights = { authorize: () => ({ allowed: true, reason: '' }) };
    const clusters = new ServedClusters({
      directory: join(this.directory, 'clusters'),
      stateKey: Buffer.alloc(32),
      kinds,
      store: this.store,
      rights: rights as unknown as ScopedAuthorizer,
      authorizer: rights,
      projectPrefix: () => 'p-',
      prefix: '/kubernetes',
      clock: Date,
      onError,
    });
    this.#undo.push(() => clusters.close());
    await clusters.ready();
    const logger = createLogger('info', { write: (line) => this.log.push(line) });
    // In full, so that a new dependency fails to compile here.
    const dependencies: ServerDependencies = {
      ...{ kinds, store: this.store, clusters, logger, clock: Date, version: '0' },
      root: '/kubernetes/management',
      authorizer: rights,
      rights: rights as unknown as ScopedAuthorizer,
      failedLogins: new FailedLogins(Date),
      config: { current: DEFAULTS, subscribe: () => noop, fromFile: false },
      metrics: {
        requests: { observe: noop },
        watches: { inc: noop, dec: noop },
      } as unknown as ServerDependencies['metrics'],
      audit: {
        isOn: false,
        begin: () => undefined,
        relay: () => true,
        find: async () => undefined,
      },
      tokens: {} as ServerDependencies['tokens'],
      clientState: { kinds: CLIENT_KINDS, open: unused() },
      core: { kinds: CORE_KINDS, store: this.store, registry: unused() },
      ...{ registry: unused(), history: unused(), planner: unused(), authenticate: unused() },
      ...{
        identities: unused(),
        signatures: unused(),
        git: unused(),
        sync: unused(),
        health: unused(),
        tenants: unused(),
        costs: unused(),
        suspensions: unused(),
      },
      fairness: new FlowClassifier(),
      ...{ secretStore: unused(), signIn: unused(), oidc: unused() },
    };
    const socket = clusterSocket(this.directory, dependencies);
    this.#undo.push(() => socket.close());
    await this.#openDoor(() => socket.access('/kubernetes'));
    const loops = new TenantLoops({
      tenants: clusters.tenants,
      targets: () => clusters.syncTargets(),
      kinds,
      store: this.store,
      branch: { submit: (write) => this.#submit(write) },
      runner: this.#runner,
      trialRunner: this.#runner,
      referenceNames: this.#referenceNames,
      prefix: '/kubernetes',
      access: async (root) => ({ server: `${this.doorUrl}${root}` }),
      kubeconfigs: this.directory,
      metrics: createTenantMetrics(this.metrics),
      suspended: () => undefined,
      replicated: this.term && { term: this.term },
      logger,
      clock: Date,
    });
    this.#loops = loops;
    this.#undo.push(() => loops.close());
    clusters.follow((name) => loops.follow(name));
    if (clusters.wasUsed) await loops.resume({ objects: 10, percent: 20 });
    this.#direct = await socket.access('/kubernetes');
  }

  /** As the end of the process would. What the state held of tenants stays. */
  async stop(): Promise<void> {
    for (const step of this.#undo.splice(0).reverse()) await step();
    this.metrics.clear();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#runner.close();
    await rm(this.directory, { recursive: true, force: true });
  }

  /** A tenant as its vcluster.yaml says; undefined removes it. */
  tenant(name: string, spec: object | undefined): void {
    const key = { group: GROUP, kind: 'Tenant', namespace: '', name };
    if (spec === undefined) {
      this.store.apply([{ type: 'remove', key }]);
      return;
    }
    const uid = `uid-of-${name}`;
    const object = {
      ...{ apiVersion: `${GROUP}/v1`, kind: 'Tenant', metadata: { name, uid } },
      spec,
    } as unknown as KubeObject;
    this.store.apply([{ type: 'put', key, object }]);
  }

  sharedSecret(name: string, data: Readonly<Record<string, string>> | undefined): void {
    const key = { group: GROUP, kind: 'SharedSecret', namespace: 'default', name };
    const entries = Object.entries(data ?? {}).map(([each, text]) => [each, btoa(text)]);
    const object = {
      ...{ apiVersion: `${GROUP}/v1`, kind: 'SharedSecret' },
      ...{ metadata: { name, namespace: 'default' }, spec: { data: Object.fromEntries(entries) } },
    } as unknown as KubeObject;
    this.store.apply([data === undefined ? { type: 'remove', key } : { type: 'put', key, object }]);
  }

  /** Write of another client to a cluster, past the server. Undefined for 404. */
  async call(method: string, path: string, body?: unknown): Promise<KubeObject | undefined> {
    const { socketPath = '', token } = this.#direct ?? {};
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = { authorization: `Bearer ${token}`, 'content-type': type };
    const answer = await new Promise<{ code: number; text: string }>((resolve, reject) => {
      const request = http.request({ method, socketPath, path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        );
      });
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
    if (answer.code === 404) return undefined;
    if (answer.code >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return JSON.parse(answer.text);
  }

  /** Endpoints of a tenant, with the Service that they need. */
  async give(tenant: string, name: string, of: Given = {}) {
    const { namespace = 'default', ...rest } = of;
    const base = `/kubernetes/virtualcluster/${tenant}/api/v1/namespaces`;
    const metadata = { name: namespace };
    await this.call('POST', base, { apiVersion: 'v1', kind: 'Namespace', metadata }).catch(
      () => undefined,
    );
    await this.call('POST', `${base}/${namespace}/services`, {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name } },
      spec: { ports: [{ port: 80 }] },
    });
    const { metadata: more, ...others } = rest;
    await this.call('POST', `${base}/${namespace}/endpoints`, {
      ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: { name, ...more } },
      subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }],
      ...others,
    });
  }

  source(tenant: string, name: string, namespace = 'default') {
    return `/kubernetes/virtualcluster/${tenant}/api/v1/namespaces/${namespace}/endpoints/${name}`;
  }

  target(name: string, namespace: string, cluster = 'local'): string {
    return `/kubernetes/cluster/${cluster}/api/v1/namespaces/${namespace}/endpoints/${name}`;
  }

  /** Of Endpoints. */
  state(tenant: string, name: string, namespace = 'default'): SyncState | undefined {
    return this.#stateOf('Endpoints', { tenant, name, namespace });
  }

  serviceState(tenant: string, name: string, namespace = 'default'): SyncState | undefined {
    return this.#stateOf('Service', { tenant, name, namespace });
  }

  #stateOf(
    kind: string,
    of: { tenant: string; name: string; namespace: string },
  ): SyncState | undefined {
    return this.loops
      .states(of.tenant)
      ?.find(
        (each) =>
          each.kind === kind &&
          each.source.name === of.name &&
          each.source.namespace === of.namespace,
      );
  }

  /** The status of a tenant, as its readers see it. */
  status(tenant: string): SyncState | undefined {
    const key = { group: GROUP, kind: 'Tenant', namespace: '', name: tenant };
    return this.store.get(key)?.object.status?.['sync'] as unknown as SyncState | undefined;
  }

  async #submit(write: Parameters<Branch['submit']>[0]): Promise<never> {
    const prepared = (write as { prepare(): unknown }).prepare() as {
      do: string;
      changes: Parameters<Store['apply']>[0];
    };
    if (prepared.do === 'state') this.store.apply(prepared.changes);
    return undefined as never;
  }

  async #openDoor(behind: () => Promise<ClusterAccess>): Promise<void> {
    const server = http.createServer((request, response) => {
      void this.#pass(request, response, behind).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#undo.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    this.doorUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async #pass(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    behind: () => Promise<ClusterAccess>,
  ): Promise<void> {
    const { method = '', url: path = '' } = request;
    this.tokens.add(request.headers.authorization?.replace('Bearer ', '') ?? '');
    const fault = await this.judge({ method, path });
    if (fault !== undefined) {
      const { code, reason, retryAfter } = fault;
      const wait = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
      response.writeHead(code, { 'content-type': 'application/json', ...wait });
      response.end(JSON.stringify({ kind: 'Status', code, reason, message: `fault: ${reason}` }));
      return;
    }
    if (method !== 'GET') this.writes.push(`${method} ${path.split('?')[0]}`);
    const { socketPath = '', token } = await behind();
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    const far = http.request({ method, socketPath, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    far.on('error', () => response.destroy());
    response.on('close', () => far.destroy());
    request.pipe(far);
  }
}

export async function startTenantClusters(
  referenceNames: 'short' | 'concat' = 'short',
): Promise<TenantClusters> {
  const directory = await mkdtemp(join(tmpdir(), 'tenants-'));
  const clusters = new TenantClusters(directory, referenceNames);
  await clusters.start();
  return clusters;
}

/** Polls: what it looks at is on its way. */
export async function eventually<T>(look: () => T | Promise<T>): Promise<T> {
  return await expect
    .poll(look, { timeout: 30_000, interval: 10 })
    .toBeTruthy()
    .then(() => look());
}
