/** Public names of `tls/`: other folders import this file alone. */
export { formatKubeconfig } from './kubeconfig.ts';
export { certificateIn, endOf } from './pem-files.ts';
export { ensureAuthority } from './private-authority.ts';
export { ensureServerCertificate } from './server-certificate.ts';
export { BACKDATE_MS, DAY_MS } from './validity.ts';
