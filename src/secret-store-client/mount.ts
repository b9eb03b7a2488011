/** Detects the engine of a mount from the answers of the store. */
import { StoreError } from '../secrets-merge/index.ts';
import type { StoreClient } from './client.ts';
import { encodePath, readJson } from './kv-data.ts';

export interface Mount {
  /** With its trailing slash; the requested path may have been longer. */
  readonly path: string;
  readonly version: 1 | 2;
  /** Changes when the mount is created again. */
  readonly uuid?: string;
}

interface MountAnswer {
  readonly data?: {
    readonly type?: string;
    readonly path?: string;
    readonly uuid?: string;
    readonly options?: { readonly version?: string } | null;
  };
}

/** Rejects with `StoreError` if the mount is not a KV engine that the token can use. */
export async function detectMount(client: StoreClient, mount: string): Promise<Mount> {
  const path = `sys/internal/ui/mounts/${encodePath(trimmed(mount))}`;
  const answer = await client.call({ method: 'GET', path }).catch((error: unknown) => {
    if (!(error instanceof StoreError) || error.reason !== 'Forbidden') throw error;
    const message = `Nothing is mounted at ${mount}, or the token has no capability below it`;
    throw new StoreError(message, { reason: 'MountMissing', cause: error });
  });
  const own = `${trimmed(mount)}/`;
  if (answer.status === 404) return await mountOfOldServer(client, own);
  const { data } = readJson<MountAnswer>(answer, `The mount ${mount}`);
  if (data?.type !== 'kv' && data?.type !== 'generic') {
    const message = `The mount ${mount} is not a KV engine`;
    throw new StoreError(message, { reason: 'WrongEngine' });
  }
  const { path: real = own } = data;
  if (own !== real && own.startsWith(real)) {
    const message = `There is no mount ${own} but ${real}; the rest belongs to the path of the secret`;
    throw new StoreError(message, { reason: 'MountMissing' });
  }
  return {
    path: own,
    version: data.options?.version === '2' ? 2 : 1,
    ...(data.uuid !== undefined && { uuid: data.uuid }),
  };
}

/**
 * Servers before Vault 0.10 do not support the request, and have only KV v1. Any other 404 comes
 * from a missing namespace, or from a server that is not a store: taking it for an empty mount
 * would look as if every secret had been deleted.
 */
async function mountOfOldServer(client: StoreClient, path: string): Promise<Mount> {
  const health = await client.callRoot({ method: 'GET', path: HEALTH });
  const version = health.status === 200 ? versionOf(health.text) : undefined;
  if (version !== undefined && OLD_SERVER.test(version)) return { path, version: 1 };
  const where = client.namespace ? `, or no namespace ${client.namespace}` : '';
  const what = version === undefined ? 'no secret store' : `no mount ${path}${where}`;
  const message = `There is ${what} at the address of the secret store`;
  throw new StoreError(message, { reason: 'MountMissing' });
}

/** Answers 200 in every state of the store. */
const HEALTH =
  'sys/health?standbyok=true&perfstandbyok=true&sealedcode=200&uninitcode=200&drsecondarycode=200';
const OLD_SERVER = /^v?0\.\d\./;

function versionOf(text: string): string | undefined {
  try {
    const { version }: { version?: unknown } = JSON.parse(text);
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Editions without namespaces ignore the header, and would silently use the root. Rejects with
 * `StoreError` when the mount is the same with and without the namespace.
 */
export async function checkNamespace(client: StoreClient, mount: Mount): Promise<void> {
  const { namespace = '' } = client;
  if (namespace === '' || namespace === 'root' || mount.uuid === undefined) return;
  const path = `sys/internal/ui/mounts/${encodePath(trimmed(mount.path))}`;
  const root = await client.callRoot({ method: 'GET', path }).catch((error: unknown) => {
    if (error instanceof StoreError) return undefined;
    throw error;
  });
  if (root?.status !== 200) return;
  const { data } = readJson<MountAnswer>(root, `The mount ${mount.path}`);
  if (data?.uuid === mount.uuid) {
    const message = `The secret store ignores the namespace ${namespace}; its edition has none`;
    throw new StoreError(message, { reason: 'NamespaceIgnored' });
  }
}

function trimmed(mount: string): string {
  return mount.replace(/^\/+|\/+$/g, '');
}
