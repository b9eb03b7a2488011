/** Opens the client. It loads the gRPC libraries only when etcd is used. */
import type { RemoteEtcd } from './etcd.ts';
import type { EtcdOptions } from './etcd-options.ts';

/** Connects at the first call. */
export async function openEtcd(options: EtcdOptions): Promise<RemoteEtcd> {
  const { EtcdClient } = await import('./client.ts');
  return new EtcdClient(options);
}
