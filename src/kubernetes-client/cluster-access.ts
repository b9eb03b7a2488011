/** How to reach a Kubernetes API: an address, what to trust, and who we are. */

import { parseDocument } from 'yaml';
import { isRecord, valueAt } from '../apimachinery/index.ts';

export interface ClusterAccess {
  /** With the path that the API is below; no trailing slash. */
  readonly server: string;
  /** A unix socket to go through instead of the network. */
  readonly socketPath?: string;
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
  readonly token?: string;
  /** For a server whose certificate has another name. */
  readonly serverName?: string;
  readonly skipVerification?: boolean;
  /** Called before every write; throws where this process must not act any more. */
  readonly assertMayAct?: (() => void) | undefined;
}

/** No message of it holds what is in the file: it is a secret. */
export class KubeconfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KubeconfigError';
  }
}

/**
 * The current context of a kubeconfig. Only what is in the file itself is used: programs are not
 * started and other files are not read, because whoever can name a kubeconfig must not run or
 * read anything by it.
 */
export function accessFromKubeconfig(text: string): ClusterAccess {
  const config = parsed(text);
  const context = named(config, 'contexts', valueAt(config, ['current-context']), 'context');
  const cluster = named(config, 'clusters', context['cluster'], 'cluster');
  const user = named(config, 'users', context['user'], 'user');
  refuseOutside('cluster', cluster, ['certificate-authority', 'proxy-url']);
  refuseOutside('user', user, [
    ...['client-certificate', 'client-key', 'tokenFile', 'exec', 'auth-provider', 'username'],
  ]);
  const server = textIn(cluster, 'server') ?? '';
  if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol)) {
    throw new KubeconfigError('the kubeconfig has no server with an http or https URL');
  }
  return {
    server: server.replace(/\/+$/, ''),
    ...optional('ca', decoded(cluster, 'certificate-authority-data')),
    ...optional('certificate', decoded(user, 'client-certificate-data')),
    ...optional('key', decoded(user, 'client-key-data')),
    ...optional('token', textIn(user, 'token')),
    ...optional('serverName', textIn(cluster, 'tls-server-name')),
    skipVerification: cluster['insecure-skip-tls-verify'] === true,
  };
}

function parsed(text: string): unknown {
  // What the parser says quotes the text.
  const document = parseDocument(text, { logLevel: 'silent' });
  if (document.errors.length > 0) throw new KubeconfigError('the kubeconfig is not YAML');
  return document.toJS({ maxAliasCount: 10 });
}

type Fields = Record<string, unknown>;

function named(config: unknown, list: string, name: unknown, field: string): Fields {
  const entries = valueAt(config, [list]);
  const found = (Array.isArray(entries) ? entries : []).find(
    (entry: unknown) => isRecord(entry) && entry['name'] === name,
  );
  const value = valueAt(found, [field]);
  if (isRecord(value)) return value;
  throw new KubeconfigError(`the kubeconfig has no ${field} for its current context`);
}

function refuseOutside(what: string, fields: Fields, refused: readonly string[]): void {
  const found = refused.find((name) => fields[name] !== undefined);
  if (found === undefined) return;
  throw new KubeconfigError(
    `${found} of the ${what} is not supported in a kubeconfig: use a token or embedded data (kubectl config view --flatten)`,
  );
}

function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function decoded(fields: Fields, name: string): string | undefined {
  const text = textIn(fields, name);
  return text === undefined ? undefined : Buffer.from(text, 'base64').toString('utf8');
}

function optional<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: string });
}
