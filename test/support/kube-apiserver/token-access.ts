/** Access to a built API server with a static token: as a kubeconfig, and as a client. */
import { stringify } from 'yaml';
import { accessFromKubeconfig } from '../../../src/kubernetes-client/cluster-access.ts';
import { KubeClient } from '../../../src/kubernetes-client/kube-client.ts';
import type { ApiServer } from './api-server.ts';

export function kubeconfigOf({ url, ca }: Pick<ApiServer, 'url' | 'ca'>, token: string): string {
  const of = { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: of }],
    users: [{ name: 'u', user: { token } }],
  });
}

export function clientWith(server: Pick<ApiServer, 'url' | 'ca'>, token: string): KubeClient {
  return new KubeClient(accessFromKubeconfig(kubeconfigOf(server, token)));
}
