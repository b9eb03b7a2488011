/** Access to a Kubernetes API: address, trust and credentials. */

import { parseDocument } from 'yaml';
import { isRecord, valueAt } from '../apimachinery/index.ts';

export interface ClusterAccess {
  /** With the path prefix of the API; no trailing slash. */
  readonly server: string;
  /** A unix socket to use instead of the network. */
  readonly socketPath?: string;
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
  readonly token?: string;
  /** Expected name in the certificate, if it differs from the host. */
  readonly serverName?: string;
  readonly skipVerification?: boolean;
  /** Called before every write; throws if this process must not act any more. */
  readonly assertMayAct?: (() => void) | undefined;
}

/** The message never quotes the file, which is a secret. */
export class KubeconfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KubeconfigError';
  }
}

/**
 * The current context of a kubeconfig. Only inline data is used: no program is started and no other
 * file is read, because the author of a kubeconfig must not be able to run or read anything with
 * it.
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
  // The message of the parser quotes the text.
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
