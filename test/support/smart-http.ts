/** Smart HTTP for one repository, without a daemon. */
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import {
  advertiseRefs,
  isGitService,
  type ServeOptions,
  type ServeResult,
  serveRpc,
  serviceInput,
} from '../../src/git/serve/smart-http.ts';
import { gitEnv } from './git.ts';

export interface Served {
  readonly url: string;
  readonly results: { service: string; protocol: string | undefined; result: ServeResult }[];
}

/** The smallest server of one repository. */
export async function serveRepository(
  gitDir: string,
  of: Omit<ServeOptions, 'gitProtocol'> = {},
): Promise<Served> {
  const results: Served['results'] = [];
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://localhost');
    const isAdvertisement = url.pathname.endsWith('/info/refs');
    const service = isAdvertisement
      ? url.searchParams.get('service')
      : url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
    if (service === null || !isGitService(service)) {
      response.writeHead(403).end();
      return;
    }
    const protocol = request.headers['git-protocol'] as string | undefined;
    const options = { gitProtocol: protocol, ...of };
    const kind = isAdvertisement ? 'advertisement' : 'result';
    response.writeHead(200, { 'content-type': `application/x-${service}-${kind}` });
    const body = serviceInput(request, request.headers['content-encoding']);
    const result = isAdvertisement
      ? await advertiseRefs({ gitDir }, { service, response }, options)
      : await serveRpc({ gitDir }, { service, request: body, response }, options);
    results.push({ service, protocol, result });
  }
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/repo.git`, results };
}

/** git beside the server of this same process: it must not block it. */
export function gitOver(
  cwd: string,
  args: readonly string[],
): Promise<{ code: number | null; stderr: string }> {
  return new Promise((done) => {
    const child = spawn('git', args, { cwd, env: gitEnv, stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once('close', (code) => done({ code, stderr }));
  });
}
