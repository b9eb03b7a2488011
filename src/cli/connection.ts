/** Connection of a command to the platform of a kubeconfig, found as kubectl finds it. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { isRecord, type KubeObject, valueAt } from '../apimachinery/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { type CallOptions, getJson } from './https-client.ts';
import { kubeconfigFiles, readKubeconfigs } from './kubeconfig-file.ts';

export interface Connection {
  /** The API root, such as `https://127.0.0.1:8443/kubernetes/management`. */
  readonly server: string;
  readonly caPem: string | undefined;
  /** A request below the management group's collections: `ownedaccesskeys/x`. Throws for errors. */
  call(method: string, path: string, body?: unknown, type?: string): Promise<unknown>;
  /** A request below the API root itself: `secret-store`. Throws for errors. */
  ask(method: string, path: string, options?: AskOptions): Promise<unknown>;
}

type AskOptions = Pick<CallOptions, 'body' | 'type' | 'timeoutMs'>;

/** Throws UsageError when there is no kubeconfig, or none that can be used. */
export async function openConnection(options: ParsedOptions): Promise<Connection> {
  return await connect(options, connectionFiles(options));
}

/** A context of the kubeconfigs of kubectl. */
export async function openContext(options: ParsedOptions, context: string): Promise<Connection> {
  return await connect(options, kubeconfigFiles(undefined, options.environment), context);
}

async function connect(
  options: ParsedOptions,
  files: readonly string[],
  context?: string,
): Promise<Connection> {
  if (!files.some((file) => existsSync(file))) {
    throw new UsageError(
      `There is no kubeconfig at ${files.join(', ')}; name one with --kubeconfig, or run gitplane login`,
    );
  }
  const {
    server,
    caPem: ca,
    insecure,
    token,
  } = await readAccess(files, options.environment, context);
  const base = `${server}/apis/${options.required('api-group')}/v1`;
  return {
    server,
    caPem: ca,
    call: (method, path, body, type) =>
      getJson(`${base}/${path}`, { method, ca, insecure, token, body, type }),
    ask: (method, path, more) =>
      getJson(`${server}/${path}`, { method, ca, insecure, token, ...more }),
  };
}

/** The daemon's own kubeconfig where there is one, and otherwise what kubectl would take. */
function connectionFiles(options: ParsedOptions): readonly string[] {
  const { environment } = options;
  const named = options.required('kubeconfig');
  if (named === environment['KUBECONFIG']) return kubeconfigFiles(undefined, environment);
  const [usual = ''] = kubeconfigFiles(undefined, { ...environment, KUBECONFIG: undefined });
  const isDefault = named === DEFAULT_KUBECONFIG && !existsSync(named) && existsSync(usual);
  return [isDefault ? usual : named];
}

const DEFAULT_KUBECONFIG = 'data/kubeconfig';

interface Access {
  readonly server: string;
  readonly caPem: string | undefined;
  readonly insecure: boolean;
  readonly token: string;
}

async function readAccess(
  files: readonly string[],
  environment: ParsedOptions['environment'],
  named?: string,
): Promise<Access> {
  const config = await readKubeconfigs(files);
  const context = config.find('contexts', named ?? config.currentContext)?.['context'];
  if (context === undefined && named !== undefined) {
    throw new UsageError(`There is no context ${JSON.stringify(named)} in ${files.join(', ')}`);
  }
  const cluster = config.find('clusters', text(context, 'cluster'))?.['cluster'];
  const user = config.find('users', text(context, 'user'))?.['user'];
  const server = text(cluster, 'server').replace(/\/+$/, '');
  const token = text(user, 'token') || (await credentialOf(user, server, environment));
  if (server === '' || token === '') {
    throw new UsageError(
      `${files.join(', ')} names no server, or no token, in its current context`,
    );
  }
  const insecure = valueAt(cluster, ['insecure-skip-tls-verify']) === true;
  return { server, caPem: await authorityOf(cluster), insecure, token };
}

async function authorityOf(cluster: unknown): Promise<string | undefined> {
  const inline = text(cluster, 'certificate-authority-data');
  if (inline !== '') return Buffer.from(inline, 'base64').toString('utf8');
  const path = text(cluster, 'certificate-authority');
  return path === '' ? undefined : await readFile(path, 'utf8');
}

const PLUGIN_WITHIN_MS = 60_000;

/** Runs what the kubeconfig names for it, as kubectl does; empty where it names nothing. */
async function credentialOf(
  user: unknown,
  server: string,
  environment: ParsedOptions['environment'],
): Promise<string> {
  const exec = isRecord(user) ? user['exec'] : undefined;
  const command = text(exec, 'command');
  if (!isRecord(exec) || command === '') return '';
  const apiVersion = text(exec, 'apiVersion');
  const info = {
    apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, cluster: { server } },
  };
  const variables = Array.isArray(exec['env']) ? exec['env'].filter(isRecord) : [];
  const env = {
    ...environment,
    ...Object.fromEntries(variables.map(({ name, value }) => [String(name), String(value)])),
    KUBERNETES_EXEC_INFO: JSON.stringify(info),
  };
  const args = Array.isArray(exec['args']) ? exec['args'].map(String) : [];
  const { stdout } = await promisify(execFile)(command, args, { env, timeout: PLUGIN_WITHIN_MS });
  return text(valueAt(JSON.parse(stdout), ['status']), 'token');
}

/** Throws for a response that is not an object of the API. */
export function objectIn(response: unknown): KubeObject {
  if (isObject(response)) return response;
  throw new Error('The platform responded with something that is not an object of its API');
}

/** Items of a list. */
export function itemsIn(list: unknown): KubeObject[] {
  const items = isRecord(list) ? list['items'] : undefined;
  return Array.isArray(items) ? items.filter(isObject) : [];
}

function isObject(value: unknown): value is KubeObject {
  return isRecord(value) && isRecord(value['metadata']);
}

function text(from: unknown, field: string): string {
  const value = isRecord(from) ? from[field] : undefined;
  return typeof value === 'string' ? value : '';
}
