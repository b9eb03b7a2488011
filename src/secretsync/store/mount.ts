/** Which engine is mounted where, asked of the store itself. */
import { StoreError } from '../ports.ts';
import type { StoreClient } from './client.ts';
import { encodePath, readJson } from './kv-data.ts';

export interface Mount {
  /** With its slash at the end; what was asked for may have been longer. */
  readonly path: string;
  readonly version: 1 | 2;
  /** Another one means that the mount was made anew. */
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

/** Rejects with `StoreError` when nothing there is a KV engine that the token can use. */
export async function detectMount(client: StoreClient, mount: string): Promise<Mount> {
  const path = `sys/internal/ui/mounts/${encodePath(trimmed(mount))}`;
  const answer = await client.call({ method: 'GET', path }).catch((error: unknown) => {
    if (!(error instanceof StoreError) || error.reason !== 'Forbidden') throw error;
    const message = `Nothing is mounted at ${mount}, or the token has no capability below it`;
    throw new StoreError(message, { reason: 'MountMissing', cause: error });
  });
  // Servers that are too old to be asked have KV v1 only.
  if (answer.status === 404) return { path: `${trimmed(mount)}/`, version: 1 };
  const { data } = readJson(answer, `The mount ${mount}`) as MountAnswer;
  if (data?.type !== 'kv' && data?.type !== 'generic') {
    const message = `What is mounted at ${mount} is no KV engine`;
    throw new StoreError(message, { reason: 'WrongEngine' });
  }
  return {
    path: data.path ?? `${trimmed(mount)}/`,
    version: data.options?.version === '2' ? 2 : 1,
    ...(data.uuid !== undefined && { uuid: data.uuid }),
  };
}

/**
 * Editions without namespaces ignore the header, and would quietly read and write the root. Rejects
 * with `StoreError` when the mount is the same one with and without the namespace.
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
  const { data } = readJson(root, `The mount ${mount.path}`) as MountAnswer;
  if (data?.uuid === mount.uuid) {
    const message = `The secret store ignores the namespace ${namespace}; its edition has none`;
    throw new StoreError(message, { reason: 'NamespaceIgnored' });
  }
}

function trimmed(mount: string): string {
  return mount.replace(/^\/+|\/+$/g, '');
}
