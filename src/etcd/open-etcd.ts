/** The only door to the client: its libraries are read by nobody who has no etcd. */
import type { RemoteEtcd } from './etcd.ts';
import type { EtcdOptions } from './etcd-options.ts';

/** Connects when it is asked something. */
export async function openEtcd(options: EtcdOptions): Promise<RemoteEtcd> {
  const { EtcdClient } = await import('./client.ts');
  return new EtcdClient(options);
}
