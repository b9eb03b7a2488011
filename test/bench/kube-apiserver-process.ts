/** The real kube-apiserver with etcd in one process, which serves the kinds of `gitplane crds`. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { API_GROUP } from './corpus.ts';
import { freePort, MAIN, residentBytes } from './daemon-process.ts';
import { type Endpoint, HttpConnection, type Reply, requestBytes } from './http-connection.ts';
import { assertStatus } from './load.ts';
import type { Workspace } from './workspace.ts';

const PROGRAM = fileURLToPath(
  new URL('../../node_modules/.cache/gitplane/kube-apiserver', import.meta.url),
);
const BUILD = fileURLToPath(new URL('../../scripts/kube-apiserver.sh', import.meta.url));
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const KUBE_API = `/apis/${API_GROUP}/v1`;
/** A busy machine needs minutes: it compiles the schemas of all definitions. */
const SERVING_WITHIN_MS = 300_000;
const LOOK_EVERY_MS = 200;

export interface KubeApiserver {
  readonly https: Endpoint;
  readonly token: string;
  /** Path of the API group of the platform. */
  readonly api: string;
  readonly dataDir: string;
  /** Resident memory of server and etcd, in bytes. */
  memory(): number | undefined;
  kill(): void;
}

/** Undefined where the server is built, or can be. */
export function kubeApiserverMissing(): string | undefined {
  if (existsSync(PROGRAM)) return undefined;
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'kube-apiserver is not built, and Go is not installed (https://go.dev/dl)';
  }
}

function build(): void {
  if (existsSync(PROGRAM)) return;
  process.stderr.write('bench: building kube-apiserver, which takes minutes the first time\n');
  execFileSync('bash', [BUILD], { stdio: ['ignore', 2, 2] });
}

/** Resolves when all kinds are served; rejects with the output when the server ends before. */
export async function startKubeApiserver(workspace: Workspace): Promise<KubeApiserver> {
  build();
  const dataDir = workspace.path('kubernetes');
  mkdirSync(dataDir);
  const certDir = workspace.path('kubernetes-certificates');
  mkdirSync(certDir);
  const port = await freePort();
  const token = randomBytes(16).toString('hex');
  const child = workspace.adopt(
    spawn(PROGRAM, [dataDir, ...flagsOf({ certDir, port, token })], {
      stdio: ['ignore', 'ignore', 'pipe'],
    }),
  );
  let output = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    output = (output + chunk).slice(-10_000);
  });
  const certificate = join(certDir, 'apiserver.crt');
  const call = (method: 'GET' | 'POST', path: string, body?: object): Promise<Reply> => {
    const https = { port, ca: readFileSync(certificate, 'utf8') };
    return exchange(https, { method, path, token, body });
  };
  try {
    await untilTrue(child, async () => (await call('GET', '/readyz')).status === 200);
    for (const definition of definitions()) {
      assertStatus(await call('POST', CRDS, definition), 201);
    }
    await untilTrue(child, async () => {
      const { body } = await call('GET', CRDS);
      const { items } = JSON.parse(body?.toString('utf8') ?? '') as { items: Definition[] };
      if (!items.every(isEstablished)) return false;
      // A collection has a watch cache, which fills after the first request.
      return (await call('GET', `${KUBE_API}/teams?resourceVersion=0`)).status === 200;
    });
  } catch (cause) {
    child.kill('SIGKILL');
    throw new Error(`kube-apiserver does not serve:\n${output}`, { cause });
  }
  return {
    https: { port, ca: readFileSync(certificate, 'utf8') },
    token,
    api: KUBE_API,
    dataDir,
    memory: () => residentBytes(child.pid),
    kill: () => child.kill('SIGKILL'),
  };
}

/** Defaults of the program, except what a server without a cluster needs. */
function flagsOf(of: { certDir: string; port: number; token: string }): string[] {
  const { certDir, port, token } = of;
  const accounts = join(certDir, 'accounts.key');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(accounts, privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 });
  const tokens = join(certDir, 'tokens.csv');
  writeFileSync(tokens, `${token},admin,admin,"system:masters"\n`, { mode: 0o600 });
  return [
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${certDir}`,
    `--token-auth-file=${tokens}`,
    '--authorization-mode=RBAC',
    '--disable-admission-plugins=ServiceAccount',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${accounts}`,
    `--service-account-signing-key-file=${accounts}`,
  ];
}

interface Definition {
  readonly status?: { readonly conditions?: readonly { type: string; status: string }[] };
}

function definitions(): object[] {
  const text = execFileSync(process.execPath, [MAIN, 'crds', '-o', 'json'], { encoding: 'utf8' });
  return JSON.parse(text).items;
}

function isEstablished({ status }: Definition): boolean {
  const conditions = status?.conditions ?? [];
  return conditions.some((one) => one.type === 'Established' && one.status === 'True');
}

async function exchange(
  https: Endpoint,
  of: { method: 'GET' | 'POST'; path: string; token: string; body: object | undefined },
): Promise<Reply> {
  const connection = await HttpConnection.open(https);
  try {
    const { body, ...rest } = of;
    const bytes = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) };
    return await connection.send(requestBytes({ ...rest, ...bytes }), true);
  } finally {
    connection.close();
  }
}

/** An attempt that fails counts as false: the server does not listen at first. */
async function untilTrue(child: ChildProcess, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + SERVING_WITHIN_MS;
  for (;;) {
    if (await holds().catch(() => false)) return;
    if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}`);
    if (performance.now() > end) throw new Error(`No answer within ${SERVING_WITHIN_MS} ms`);
    await sleep(LOOK_EVERY_MS);
  }
}
