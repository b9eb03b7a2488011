/**
 * The application controller of Argo CD, as it is, with this API as the cluster that it syncs to: its
 * repository server beside it, a Redis in memory, and a real API server of Kubernetes for its own
 * objects. `npm run clients` runs it where there is an `argocd` to run.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, RBAC, run, scratchDir, startDaemon } from '../support/daemon.ts';
import {
  type ApiServer,
  hasApiServer,
  startApiServer,
} from '../support/kube-apiserver/api-server.ts';
import { freePort } from '../support/machine.ts';
import { goProgram, type Running, start } from './program.ts';

/** The program `argocd` of Argo CD, which is all of its programs by their names. */
const ARGOCD = process.env['GITPLANE_ARGOCD'];
const isAsked = process.env['GITPLANE_CLIENTS'] !== undefined;
const missing =
  ARGOCD === undefined
    ? 'GITPLANE_ARGOCD names no program'
    : hasApiServer
      ? undefined
      : 'kube-apiserver is not built (npm run kubernetes)';
if (isAsked && missing !== undefined) {
  process.stderr.write(`\nArgo CD is SKIPPED: ${missing}\n\n`);
}

const TOKEN = 'argo';
const ARGO = '/apis/argoproj.io/v1alpha1/namespaces/argocd';
const LIMIT = 300_000;
const SOON = { timeout: 120_000, interval: 200 };

describe.skipIf(!isAsked || missing !== undefined)('Argo CD', () => {
  const running: ChildProcess[] = [];
  let daemon: Daemon;
  let home: ApiServer;
  let redis: Running | undefined;
  let folder: string;
  let output = '';

  beforeAll(async () => {
    folder = scratchDir('gitplane-argo-');
    for (const name of ['bin', 'tls', 'ssh', 'gpg', 'home', 'tmp', 'source/teams']) {
      mkdirSync(join(folder, name), { recursive: true });
    }
    const users = join(folder, 'tokens.csv');
    writeFileSync(users, `${TOKEN},argo,argo,"system:masters"\n`);
    home = await startApiServer([`--token-auth-file=${users}`]);
    daemon = await startDaemon();
    await makeHome();
    await startArgo();
  }, LIMIT);

  afterAll(async () => {
    for (const child of running) child.kill('SIGKILL');
    redis?.kill();
    await daemon?.stop();
    await home?.stop();
  });

  /** At the API server that has the objects of Argo CD itself. */
  async function own(method: string, path: string, body?: object): Promise<unknown> {
    const { Agent, fetch } = await import('undici');
    const dispatcher = new Agent({ connect: { ca: home.ca } });
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const answer = await fetch(`${home.url}${path}`, {
      ...{
        method,
        dispatcher,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type },
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok && answer.status !== 404) throw new Error(`${method} ${path}: ${text}`);
    return answer.ok ? JSON.parse(text) : undefined;
  }

  /** What an installation makes, as far as the controller looks. */
  async function makeHome(): Promise<void> {
    await own('POST', '/api/v1/namespaces', { metadata: { name: 'argocd' } });
    const kinds = ['Application', 'AppProject', 'ApplicationSet'];
    for (const kind of kinds) {
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      await own('POST', path, definition(kind));
    }
    const labels = { 'app.kubernetes.io/part-of': 'argocd' };
    const maps = ['cm', 'rbac-cm', 'tls-certs-cm', 'ssh-known-hosts-cm', 'gpg-keys-cm'];
    for (const map of maps) {
      const metadata = { name: `argocd-${map}`, labels };
      await own('POST', '/api/v1/namespaces/argocd/configmaps', { metadata });
    }
    const secrets = '/api/v1/namespaces/argocd/secrets';
    const stringData = { 'server.secretkey': 'not a secret in a test' };
    await own('POST', secrets, { metadata: { name: 'argocd-secret', labels }, stringData });
    const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt')).toString('base64');
    const tlsClientConfig = { caData: ca };
    await own('POST', secrets, {
      metadata: { name: 'gitplane', labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
      stringData: {
        ...{ name: 'gitplane', server: server() },
        config: JSON.stringify({ bearerToken: daemon.token, tlsClientConfig }),
      },
    });
    const spec = {
      ...{ sourceRepos: ['*'], destinations: [{ namespace: '*', server: '*' }] },
      clusterResourceWhitelist: [{ group: '*', kind: '*' }],
    };
    // Definitions are served a moment after they were made.
    const project = { ...argo('AppProject', 'default'), spec };
    await vi.waitFor(async () => {
      if ((await own('POST', `${ARGO}/appprojects`, project)) === undefined) throw new Error('404');
    }, SOON);
  }

  const server = (): string => `${daemon.url}/kubernetes/management`;

  async function startArgo(): Promise<void> {
    const program = goProgram({ folder: join(import.meta.dirname, 'redis') });
    if (program === undefined) throw new Error('There is no Redis for Argo CD');
    redis = start(program, []);
    const { listening = '' } = await redis.until((said) => said.listening !== undefined);
    const cluster = { server: home.url, 'insecure-skip-tls-verify': true };
    const kubeconfig = join(folder, 'kubeconfig');
    const context = { cluster: 'c', user: 'u', namespace: 'argocd' };
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x' },
      ...{ clusters: [{ name: 'c', cluster }], users: [{ name: 'u', user: { token: TOKEN } }] },
      contexts: [{ name: 'x', context }],
    };
    writeFileSync(kubeconfig, JSON.stringify(config));
    const [repository, ...metrics] = await Promise.all([freePort(), freePort(), freePort()]);
    const common = ['--redis', listening, '--metrics-port'];
    const local = ['--address', '127.0.0.1', '--port', String(repository), '--disable-tls'];
    launch('argocd-repo-server', [...common, String(metrics[0]), ...local]);
    const where = ['--kubeconfig', kubeconfig, '--namespace', 'argocd'];
    const source = ['--repo-server', `127.0.0.1:${repository}`, '--repo-server-plaintext'];
    launch('argocd-application-controller', [...common, String(metrics[1]), ...where, ...source]);
  }

  function launch(name: string, args: readonly string[]): void {
    const program = join(folder, 'bin', name);
    symlinkSync(ARGOCD ?? '', program);
    const env = {
      ...process.env,
      ...{ HOME: join(folder, 'home'), TMPDIR: join(folder, 'tmp') },
      ...{ ARGOCD_GPG_ENABLED: 'false', ARGOCD_GPG_DATA_PATH: join(folder, 'gpg') },
      ...{ ARGOCD_TLS_DATA_PATH: join(folder, 'tls'), ARGOCD_SSH_DATA_PATH: join(folder, 'ssh') },
    };
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const note = (chunk: Buffer): void => {
      output = (output + chunk).slice(-20_000);
    };
    child.stdout.on('data', note);
    child.stderr.on('data', note);
    running.push(child);
  }

  const git = async (...words: string[]): Promise<void> => {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
    const done = await run('git', [...who, ...words], { cwd: join(folder, 'source') });
    expect(done.code, done.stderr).toBe(0);
  };

  async function commit(files: Readonly<Record<string, object | null>>): Promise<void> {
    for (const [name, object] of Object.entries(files)) {
      const path = join(folder, 'source/teams', name);
      if (object === null) rmSync(path);
      else writeFileSync(path, JSON.stringify(object));
    }
    await git('add', '-A');
    await git('commit', '-qm', 'Change');
    const annotations = { 'argocd.argoproj.io/refresh': 'hard' };
    await own('PATCH', `${ARGO}/applications/teams`, { metadata: { annotations } });
  }

  /** What becomes of an object at the platform; undefined: it is not there. */
  async function becomes(path: string, displayName: string | undefined): Promise<void> {
    const seen = async (): Promise<void> => {
      const answer = await daemon.call('GET', path);
      const found = answer.code === 404 ? undefined : answer.json().spec.displayName;
      expect(found).toBe(displayName);
    };
    await vi.waitFor(seen, SOON).catch((error: Error) => {
      throw new Error(`${path}: ${error.message}\n${output}`);
    });
  }

  const TEAM = `${API}/teams/argo`;
  const SECRET = `${API}/namespaces/payments/sharedsecrets/argo`;
  const team = (displayName: string): object => ({
    ...platform('Team', { name: 'argo' }),
    spec: { displayName, users: ['ada'] },
  });
  const secret = {
    ...platform('SharedSecret', { name: 'argo', namespace: 'payments' }),
    spec: { displayName: 'One', owner: { team: 'argo' }, data: { token: 'eA==' } },
  };

  test(
    'syncs what is in git, heals what drifts, prunes what is gone, and takes all of it away',
    async () => {
      await git('init', '-qb', 'main', '.');
      await commit({ 'team.yaml': team('One'), 'secret.yaml': secret });
      await own('POST', `${ARGO}/applications`, {
        ...argo('Application', 'teams'),
        metadata: { name: 'teams', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
        spec: {
          project: 'default',
          source: {
            ...{ repoURL: `file://${folder}/source`, path: 'teams', targetRevision: 'main' },
          },
          destination: { server: server(), namespace: 'default' },
          syncPolicy: { automated: { prune: true, selfHeal: true } },
        },
      });
      await becomes(TEAM, 'One');
      await becomes(SECRET, 'One');
      const drift = { body: { spec: { displayName: 'Drifted' } } };
      await daemon.call('PATCH', TEAM, { ...drift, type: 'application/merge-patch+json' });
      await becomes(TEAM, 'One');
      await daemon.call('DELETE', SECRET);
      await becomes(SECRET, 'One');
      const rules = [{ apiGroups: ['example.com'], resources: ['x'], verbs: ['get'] }];
      const role = {
        ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' },
        ...{ metadata: { name: 'from-argo' }, rules },
      };
      await commit({ 'team.yaml': team('Two'), 'secret.yaml': null, 'role.yaml': role });
      await becomes(TEAM, 'Two');
      await becomes(SECRET, undefined);
      const application = `${ARGO}/applications/teams`;
      await vi.waitFor(async () => {
        expect((await daemon.call('GET', `${RBAC}/clusterroles/from-argo`)).code).toBe(200);
        expect(await own('GET', application)).toMatchObject({
          status: { sync: { status: 'Synced' }, health: { status: 'Healthy' } },
        });
      }, SOON);
      await own('DELETE', application);
      await becomes(TEAM, undefined);
      await vi.waitFor(async () => expect(await own('GET', application)).toBeUndefined(), SOON);
    },
    LIMIT,
  );
});

function platform(kind: string, metadata: object): object {
  return { apiVersion: 'management.gitplane.dev/v1', kind, metadata };
}

function argo(kind: string, name: string): object {
  return { apiVersion: 'argoproj.io/v1alpha1', kind, metadata: { name } };
}

/** Of a kind of Argo CD; what its objects hold is its own business. */
function definition(kind: string): object {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    metadata: {
      name: `${plural}.argoproj.io`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
    },
    spec: {
      ...{ group: 'argoproj.io', scope: 'Namespaced', names: { kind, plural, singular } },
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}
