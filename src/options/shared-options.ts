/** Options that several commands take. */
import type { OptionSpec } from './option-spec.ts';

export const API_GROUP: OptionSpec = {
  name: 'api-group',
  value: 'GROUP',
  default: 'management.gitplane.dev',
  help: 'name of the management API group',
};

/** The same for the daemon and for the commands that show its changes in advance. */
export const REFERENCE_NAMES: OptionSpec = {
  name: 'reference-names',
  value: 'FORM',
  default: 'short',
  help: 'form of translated names in references: short (v…) or concat (name-x-namespace-x-tenant)',
};

export const ETCD_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'state-key',
    value: 'FILE',
    help: 'encryption key of the data in etcd, the same on every replica (64 hexadecimal digits)',
  },
  { name: 'etcd-prefix', value: 'KEY', default: '/gitplane/', help: 'prefix of all keys in etcd' },
  { name: 'etcd-ca', value: 'FILE', help: 'CA certificates (PEM) to trust for etcd' },
  { name: 'etcd-cert', value: 'FILE', help: 'client certificate (PEM) for etcd' },
  { name: 'etcd-key', value: 'FILE', help: 'private key of --etcd-cert (PEM)' },
  { name: 'etcd-user', value: 'NAME', help: 'user name in etcd' },
  { name: 'etcd-password-file', value: 'FILE', help: 'file with the password of --etcd-user' },
];

/** Of commands that work without a daemon. */
export const KEY_FILES: OptionSpec = {
  name: 'age-key-file',
  value: 'FILE',
  multiple: true,
  variable: 'SOPS_AGE_KEY_FILE',
  help: 'age identities for decryption; default: data/age.key where it exists',
};

/** Of commands that encrypt manifests. */
export const PGP_KEYS: OptionSpec = {
  name: 'pgp-keys',
  value: 'FILE',
  help: 'public keys (gpg --armor --export) of PGP recipients in .sops.yaml; default: .sops.pub.asc beside it',
};
