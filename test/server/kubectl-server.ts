/** A throw-away HTTPS server that answers kubectl from the document builders alone. */
import { execFile } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { authorityCertificate, newKeyPem, serverCertificate } from '../../src/tls/certificates.ts';

const run = promisify(execFile);

/** The binaries lie beside what `kubectl` links to; undefined where one is missing. */
export function findKubectl(minor: number): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const kubectl = join(folder, 'kubectl');
    if (!existsSync(kubectl)) continue;
    const versioned = join(dirname(realpathSync(kubectl)), `kubectl.1.${minor}`);
    if (existsSync(versioned)) return versioned;
  }
  return undefined;
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TestServer extends AsyncDisposable {
  /** `GET /path` of everything that was asked since the last call. */
  takeRequests(): string[];
  kubectl(binary: string, args: readonly string[], stdin?: string): Promise<Outcome>;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export async function startTestServer(root: string, answer: Answer): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'kubectl-'));
  const { key, ca, certificate } = await selfSigned();
  await writeFile(join(folder, 'ca.crt'), ca);
  const requests: string[] = [];
  const server: Server = createServer({ key, cert: certificate }, (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  let calls = 0;
  return {
    takeRequests: () => requests.splice(0),
    kubectl: async (binary, args, stdin) => {
      // A fresh HOME: discovery must come from this server and not from a cache.
      const home = join(folder, `home-${calls++}`);
      const flags = [
        `--server=https://127.0.0.1:${port}${root}`,
        '--token=any', // Without credentials kubectl asks for a name and a password.
        `--certificate-authority=${join(folder, 'ca.crt')}`,
      ];
      const pending = run(binary, [...args, ...flags], {
        env: { HOME: home, PATH: '/usr/bin:/bin', KUBECONFIG: '/dev/null' },
      });
      pending.child.stdin?.end(stdin ?? '');
      return await pending.then(
        ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
        (error: Outcome) => ({ code: error.code, stdout: error.stdout, stderr: error.stderr }),
      );
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function selfSigned(): Promise<{ key: string; ca: string; certificate: string }> {
  const validity = { from: Date.now() - 60_000, until: Date.now() + 3_600_000 };
  const caKey = await newKeyPem();
  const ca = await authorityCertificate(caKey, 'test', validity);
  const key = await newKeyPem();
  const request = { keyPem: key, names: ['127.0.0.1'], validity };
  const certificate = await serverCertificate({ certificatePem: ca, keyPem: caKey }, request);
  return { key, ca, certificate };
}
