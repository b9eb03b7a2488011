/** A kubeconfig that kubectl can use at once. */
import { stringify } from 'yaml';

export interface KubeconfigOptions {
  /** The API root, such as `https://127.0.0.1:8443/kubernetes/management`. */
  readonly server: string;
  /** The authority to trust; absent when the system trusts the server already. */
  readonly caPem?: string | undefined;
  /** The access key. The text returned holds it: write it to files of mode 0600 only. */
  readonly token: string;
  /** Name of the user entry. */
  readonly name?: string;
}

const CONTEXT = 'gitplane';

export function formatKubeconfig(options: KubeconfigOptions): string {
  const { server, caPem, token, name = 'admin' } = options;
  const authority =
    caPem === undefined
      ? {}
      : { 'certificate-authority-data': Buffer.from(caPem).toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: CONTEXT, cluster: { server, ...authority } }],
    users: [{ name, user: { token } }],
    contexts: [{ name: CONTEXT, context: { cluster: CONTEXT, user: name } }],
    'current-context': CONTEXT,
  };
  return stringify(config, { lineWidth: 0 });
}
