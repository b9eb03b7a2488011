/** The only door to the client: its libraries are read by nobody who has no etcd. */
import type { Etcd } from './etcd.ts';
import type { EtcdOptions } from './etcd-options.ts';

/** Connects when it is asked something. */
export async function openEtcd(options: EtcdOptions): Promise<Etcd> {
  const { EtcdClient } = await import('./client.ts');
  return new EtcdClient(options);
}
