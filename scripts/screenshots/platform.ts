/** The platform of the pictures: the example platform, on which something happened. */
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { type APIRequestContext, request } from 'playwright-core';
import { parse, stringify } from 'yaml';
import type { Summary } from '../../src/client/index.ts';
import { ClusterOfPods, podOf } from '../../test/support/cluster-of-pods.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const API = '/kubernetes/management/apis/management.gitplane.dev/v1';
const DEADLINE_MS = 60_000;

export class Platform {
  /** Signs the first administrator in, once. */
  readonly link: string;
  readonly base: string;
  /** Access key of the first administrator. */
  readonly key: string;
  readonly #dataDir: string;
  readonly #daemon: Daemon;
  readonly #cluster: ClusterOfPods;
  readonly #request: APIRequestContext;

  private constructor(of: {
    link: string;
    dataDir: string;
    daemon: Daemon;
    cluster: ClusterOfPods;
    request: APIRequestContext;
  }) {
    this.link = of.link;
    this.base = new URL(of.link).origin;
    this.key = readFileSync(join(of.dataDir, 'admin.token'), 'utf8').trim();
    this.#dataDir = of.dataDir;
    this.#daemon = of.daemon;
    this.#cluster = of.cluster;
    this.#request = of.request;
  }

  /** `port`: of the daemon; 0 takes a free one. */
  static async start(port: number): Promise<Platform> {
    const dataDir = mkdtempSync(join(tmpdir(), 'gitplane-screenshots-'));
    const cluster = await ClusterOfPods.start();
    cluster.pods = [
      podOf('web-0', { cpu: '500m', memory: '1Gi' }),
      podOf('web-1', { cpu: '500m', memory: '1Gi' }),
      podOf('database-0', { cpu: '1', memory: '2560Mi' }),
    ];
    const daemon = spawn(
      process.execPath,
      [
        ...[join(ROOT, 'dist', 'main.js'), 'serve', '--data-dir', dataDir, '--log-level', 'error'],
        ...['--listen', `127.0.0.1:${port}`, '--seed', join(ROOT, 'examples', 'platform')],
        ...['--prune-budget-objects', '2', '--prune-budget-percent', '1'],
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const link = await printedLink(daemon).catch((error: unknown) => {
      cluster.stop();
      throw error;
    });
    const api = await request.newContext({ ignoreHTTPSErrors: true });
    return new Platform({ link, dataDir, daemon, cluster, request: api });
  }

  async stop(): Promise<void> {
    const ended = once(this.#daemon, 'exit');
    this.#daemon.kill();
    await ended;
    this.#cluster.stop();
    await this.#request.dispose();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  /** Settings of the interface other than those of the example. */
  async look(): Promise<void> {
    await this.#configure((raw) => raw.replace(UI_SETTINGS, LOOK), 'A look of our own');
  }

  async nameHost(host: string): Promise<void> {
    await this.#configure((raw) => `platformHost: ${host}\n${raw}`, 'A name for people');
  }

  /** Changes through the API and by pushes, tenants, costs and audit events. */
  async change(): Promise<void> {
    await this.#configure((raw) => settings(raw), 'Count costs and record events');
    this.#pushTenants();
    await this.#send('PATCH', 'teams/storefront', {
      data: { spec: { description: 'Everything that customers see' } },
      reason: 'Says what the team does',
    });
    await this.#send('POST', 'teams', {
      data: {
        metadata: { name: 'search' },
        spec: { displayName: 'Search', owner: { team: 'platform' } },
      },
      reason: 'A team of its own for the search',
    });
    await this.#send('PATCH', 'teams/storefront', {
      data: { spec: { users: ['deploy-bot', 'ada'] } },
      reason: 'Ada joins the storefront',
    });
    await this.#fillTenant();
    await this.#degrade();
    this.#pushBranch();
  }

  /** A commit that removes too much, and waits for its approval. */
  async hold(): Promise<void> {
    const files = ['teams/payments.yaml', 'teams/search.yaml', 'ownedaccesskeys/ada-laptop.yaml'];
    this.#git('-C', this.#clone, 'rm', '-q', ...files);
    this.#git('-C', this.#clone, 'commit', '-qm', 'Remove teams that moved');
    this.#moveBranch();
    await this.#until(({ held }) => held !== undefined && held !== null);
  }

  get #clone(): string {
    return join(this.#dataDir, 'clone');
  }

  /** Changes the configuration of the example. */
  async #configure(edit: (raw: string) => string, reason: string): Promise<void> {
    const path = join(ROOT, 'examples', 'platform', 'config', 'platform.yaml');
    const { spec } = parse(readFileSync(path, 'utf8')) as { spec: { raw: string } };
    const data = { spec: { raw: edit(spec.raw) } };
    await this.#send('PATCH', 'config/platform', { data, reason });
  }

  async #get(path: string): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.key}` };
    return await (await this.#request.get(`${this.base}${path}`, { headers })).json();
  }

  /** Paths without a slash in front are of the platform's own API. */
  async #send(
    method: 'POST' | 'PATCH',
    path: string,
    of: { readonly data: object; readonly reason: string },
  ): Promise<void> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = {
      authorization: `Bearer ${this.key}`,
      'content-type': type,
      'gitplane-reason': of.reason,
    };
    const url = `${this.base}${path.startsWith('/') ? path : `${API}/${path}`}`;
    const answer = await this.#request.fetch(url, { method, data: of.data, headers });
    if (!answer.ok()) throw new Error(`${method} ${path}: ${await answer.text()}`);
  }

  async #until(isDone: (summary: Summary) => boolean): Promise<void> {
    const end = Date.now() + DEADLINE_MS;
    while (!isDone((await this.#get('/summary')) as Summary)) {
      if (Date.now() > end) throw new Error('The platform did not get into its state');
      await setTimeout(200);
    }
  }

  #git(...args: string[]): string {
    const env = {
      ...{ PATH: process.env['PATH'], HOME: this.#dataDir, GIT_CONFIG_GLOBAL: '/dev/null' },
      ...{ GIT_SSL_CAINFO: join(this.#dataDir, 'tls', 'ca.crt'), GIT_TERMINAL_PROMPT: '0' },
      ...{ GIT_AUTHOR_NAME: 'Grace', GIT_AUTHOR_EMAIL: 'grace@example.com' },
      ...{ GIT_COMMITTER_NAME: 'Grace', GIT_COMMITTER_EMAIL: 'grace@example.com' },
    };
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    return execFileSync('git', args, { cwd: this.#dataDir, env, stdio: [...stdio] })
      .toString()
      .trim();
  }

  #commit(files: Readonly<Record<string, string>>, message: string): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.#clone, path)), { recursive: true });
      writeFileSync(join(this.#clone, path), text);
    }
    this.#git('-C', this.#clone, 'add', '.');
    this.#git('-C', this.#clone, 'commit', '-qm', message);
  }

  /** One tenant in the daemon, one in a cluster of its own, one whose cluster does not answer. */
  #pushTenants(): void {
    const folder = join(this.#dataDir, 'kubeconfigs');
    mkdirSync(folder, { recursive: true });
    const { kubeconfig, url } = this.#cluster;
    writeFileSync(join(folder, 'green'), kubeconfig);
    writeFileSync(join(folder, 'red'), kubeconfig.replace(url, 'http://127.0.0.1:9'));
    const remote = new URL('/git/platform.git', this.base);
    Object.assign(remote, { username: 'admin', password: this.key });
    this.#git('clone', '-q', remote.href, this.#clone);
    const external = (file: string): string =>
      stringify({
        external: { gitplane: { source: { kubeconfig: { file } } } },
        sync: { toHost: { endpoints: { enabled: false }, services: { enabled: false } } },
      });
    this.#commit(
      {
        'tenants/blue/vcluster.yaml': TENANT,
        'tenants/green/vcluster.yaml': external('green'),
        'tenants/red/vcluster.yaml': external('red'),
      },
      'Clusters for the storefront',
    );
    this.#git('-C', this.#clone, 'push', '-q');
  }

  async #fillTenant(): Promise<void> {
    const path = '/kubernetes/virtualcluster/blue/api/v1/namespaces/default';
    for (const [at, name] of ['cart', 'catalog', 'web'].entries()) {
      const metadata = { name, labels: { team: 'storefront' } };
      const subsets = [
        { addresses: [{ ip: `10.0.0.${at + 7}` }], ports: [{ name: 'http', port: 8080 }] },
      ];
      const spec = { ports: [{ name: 'http', port: 80 }] };
      const reason = 'Runs the storefront';
      await this.#send('POST', `${path}/services`, { data: { metadata, spec }, reason });
      const data = { metadata, subsets };
      await this.#send('POST', `${path}/endpoints`, { data, reason });
    }
  }

  /** A branch that waits for its review. */
  #pushBranch(): void {
    this.#git('-C', this.#clone, 'checkout', '-qb', 'checkout');
    this.#commit({ 'teams/checkout.yaml': TEAM }, 'A team of its own for the checkout');
    this.#git('-C', this.#clone, 'push', '-q', 'origin', 'checkout');
    this.#git('-C', this.#clone, 'checkout', '-q', 'main');
  }

  /** An object whose newest manifest is not valid, as a mirror would bring it. */
  async #degrade(): Promise<void> {
    const path = 'namespaces/storefront/sharedsecrets/cdn.yaml';
    this.#git('-C', this.#clone, 'pull', '-q', '--rebase');
    const text = readFileSync(join(this.#clone, path), 'utf8');
    this.#commit(
      { [path]: text.replace(/purge-token: .*/, 'purge-token: not base64') },
      'A new token of the CDN',
    );
    this.#moveBranch();
    await this.#until(({ degraded }) => degraded.count > 0);
  }

  /** No hook judges what is moved beside it. */
  #moveBranch(): void {
    const bare = join(this.#dataDir, 'repo.git');
    this.#git('-C', bare, 'fetch', '-q', this.#clone, 'main');
    const head = this.#git('-C', this.#clone, 'rev-parse', 'HEAD');
    this.#git('-C', bare, 'update-ref', 'refs/heads/main', head);
  }
}

type Daemon = ChildProcessByStdio<null, Readable, null>;

async function printedLink(daemon: Daemon): Promise<string> {
  let output = '';
  for await (const chunk of daemon.stdout) {
    output += String(chunk);
    const link = /https:\S+\/auth\/link\?code=\S+/.exec(output)?.[0];
    if (link !== undefined && output.includes('Try next')) return link;
  }
  throw new Error(`The daemon did not start:\n${output}`);
}

function settings(raw: string): string {
  return raw
    .replace(/costControl:\n( +)enabled: false/, 'costControl:\n$1enabled: true')
    .replace(
      /( +)averageCPUPricePerNode:/,
      '$1averageRAMPricePerNode:\n$1  price: 24\n$1  timePeriod: Monthly\n$1averageCPUPricePerNode:',
    )
    .replace(
      /audit:\n( +)enabled: false\n +level: 1\n/,
      'audit:\n$1enabled: true\n$1dataStoreEndpoint: sqlite://audit.db\n$1policy: {rules: [{level: Metadata}]}\n',
    );
}

const UI_SETTINGS = /uiSettings:\n(?: .*\n)+/;
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" width="176" height="40" viewBox="0 0 176 40">
<circle cx="20" cy="20" r="16" fill="#f6c453"/><path d="M12 24 20 10l8 14z" fill="#3b0d2e"/>
<text x="46" y="27" font-family="sans-serif" font-size="20" font-weight="600" fill="#fff">Harbour</text></svg>`;
const LOOK = stringify({
  platformHost: 'platform.example.com',
  uiSettings: {
    logoURL: `data:image/svg+xml;base64,${Buffer.from(LOGO).toString('base64')}`,
    sidebarColor: '#3b0d2e',
    primaryColor: '#a21c5c',
    accentColor: '#f6c453',
    legalTemplate: '<p>For the staff of Harbour. <a href="https://example.com/terms">Terms</a></p>',
    navBarButtons: [
      { position: 'TopStart', text: 'Status', link: 'https://status.example.com' },
      { position: 'TopEnd', text: 'Requests', link: 'https://requests.example.com' },
      { position: 'BottomStart', text: 'Runbooks', link: 'https://runbooks.example.com' },
      { position: 'BottomEnd', text: 'Help', link: 'https://help.example.com' },
    ],
  },
});
const TENANT = `sync:
  toHost:
    endpoints:
      enabled: true
      patches:
        - path: metadata.labels["team"]
          expression: '"blue-" + value'
          reverseExpression: 'value.slice(5)'
`;
const TEAM = `apiVersion: management.gitplane.dev/v1
kind: Team
metadata:
  name: checkout
spec:
  displayName: Checkout
  owner: {team: platform}
  users: [ada, deploy-bot]
`;
