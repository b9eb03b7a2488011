/** A real API server of Kubernetes, where `npm run kubernetes` has built one. */

import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scratchDir } from '../daemon.ts';
import { freePort } from '../machine.ts';

const PROGRAM = fileURLToPath(
  new URL('../../../node_modules/.cache/gitplane/kube-apiserver', import.meta.url),
);

export const hasApiServer = existsSync(PROGRAM);

const SELF_REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/** `status.userInfo` of a SelfSubjectReview, as far as tests look. */
export interface KnownUser {
  readonly username: string;
  readonly groups: readonly string[];
}

export interface ApiServer {
  readonly url: string;
  /** Whom it is known by, PEM. */
  readonly ca: string;
  /** Whom the server takes the holder of a bearer token for; undefined: it answers 401. */
  whoIs(token: string): Promise<KnownUser | undefined>;
  /** What it wrote. */
  output(): string;
  stop(): Promise<void>;
  /** Once it is stopped: the same server with the same objects. */
  startAgain(): Promise<ApiServer>;
}

/** Starts the server with its authentication flags. Without RBAC every authenticated user may do everything. */
export async function startApiServer(
  flags: readonly string[],
  of: { readonly authorization?: 'AlwaysAllow' | 'RBAC' } = {},
): Promise<ApiServer> {
  const { authorization = 'AlwaysAllow' } = of;
  const folder = scratchDir('gitplane-kubernetes-');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(accountsKey(folder), privateKey.export({ type: 'sec1', format: 'pem' }));
  const mode = `--authorization-mode=${authorization}`;
  return await serve([mode, ...flags], { folder, port: await freePort() });
}

function accountsKey(folder: string): string {
  return join(folder, 'accounts.key');
}

async function serve(
  flags: readonly string[],
  at: { folder: string; port: number },
): Promise<ApiServer> {
  const { folder, port } = at;
  const accounts = accountsKey(folder);
  const child = spawn(
    PROGRAM,
    [
      folder,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${folder}`,
      '--disable-admission-plugins=ServiceAccount',
      '--service-cluster-ip-range=10.0.0.0/24',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${accounts}`,
      `--service-account-signing-key-file=${accounts}`,
      ...flags,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  const ask = (token: string): Promise<{ code: number; text: string }> =>
    new Promise((resolve, reject) => {
      const ca = readFileSync(join(folder, 'apiserver.crt'));
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const options = { host: '127.0.0.1', port, path: SELF_REVIEWS, method: 'POST', headers, ca };
      const sent = request(options, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ code: response.statusCode ?? 0, text }));
      });
      sent.on('error', reject);
      sent.end('{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}');
    });
  const server: ApiServer = {
    url: `https://127.0.0.1:${port}`,
    get ca() {
      return readFileSync(join(folder, 'apiserver.crt'), 'utf8');
    },
    whoIs: async (token) => {
      const { code, text } = await ask(token);
      if (code === 401) return undefined;
      if (code === 201) return JSON.parse(text).status.userInfo;
      throw new Error(`The API server answered ${code}: ${text}`);
    },
    output: () => output,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    startAgain: () => serve(flags, at),
  };
  const deadline = Date.now() + 60_000;
  // A stranger is told so as soon as it serves.
  while ((await server.whoIs('nobody').catch(() => 'not yet')) !== undefined) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await server.stop();
      throw new Error(`The API server does not serve:\n${output.slice(-4000)}`);
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  return server;
}
