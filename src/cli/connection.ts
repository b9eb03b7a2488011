/** The platform that a command talks to: the one of a kubeconfig, as kubectl would find it. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { isRecord } from '../apimachinery/object.ts';
import { type ParsedOptions, UsageError } from '../options.ts';
import { getJson } from './https-client.ts';

export interface Connection {
  /** The API root, such as `https://127.0.0.1:8443/kubernetes/management`. */
  readonly server: string;
  readonly caPem: string | undefined;
  /** A request below the management group's collections: `ownedaccesskeys/x`. Throws for errors. */
  call(method: string, path: string, body?: unknown, type?: string): Promise<unknown>;
  /** A request below the API root itself: `secret-store`. Throws for errors. */
  ask(method: string, path: string, timeoutMs?: number): Promise<unknown>;
}

/** Throws UsageError when there is no kubeconfig, or none that can be used. */
export async function openConnection(options: ParsedOptions): Promise<Connection> {
  const file = options.required('kubeconfig');
  if (!existsSync(file)) {
    throw new UsageError(`There is no kubeconfig at ${file}; name one with --kubeconfig`);
  }
  const { server, caPem, token } = await readKubeconfig(file);
  const base = `${server}/apis/${options.required('api-group')}/v1`;
  return {
    server,
    caPem,
    call: (method, path, body, type) =>
      getJson(`${base}/${path}`, { method, ca: caPem, token, body, type }),
    ask: (method, path, timeoutMs) =>
      getJson(`${server}/${path}`, { method, ca: caPem, token, timeoutMs }),
  };
}

async function readKubeconfig(
  file: string,
): Promise<{ server: string; caPem: string | undefined; token: string }> {
  const config: unknown = parse(await readFile(file, 'utf8'));
  const context = entry(config, 'contexts', text(config, 'current-context'))?.['context'];
  const cluster = entry(config, 'clusters', text(context, 'cluster'))?.['cluster'];
  const user = entry(config, 'users', text(context, 'user'))?.['user'];
  const server = text(cluster, 'server');
  const token = text(user, 'token');
  if (server === '' || token === '') {
    throw new UsageError(`${file} names no server, or no token, in its current context`);
  }
  const inline = text(cluster, 'certificate-authority-data');
  const path = text(cluster, 'certificate-authority');
  const caPem =
    inline !== ''
      ? Buffer.from(inline, 'base64').toString('utf8')
      : path === ''
        ? undefined
        : await readFile(path, 'utf8');
  return { server: server.replace(/\/+$/, ''), caPem, token };
}

function entry(config: unknown, list: string, name: string): Record<string, unknown> | undefined {
  const entries = isRecord(config) ? config[list] : undefined;
  if (!Array.isArray(entries)) return undefined;
  return entries.filter(isRecord).find((one) => one['name'] === name);
}

function text(from: unknown, field: string): string {
  const value = isRecord(from) ? from[field] : undefined;
  return typeof value === 'string' ? value : '';
}
