/** Options that several commands take. */
import type { OptionSpec } from './option-spec.ts';

export const API_GROUP: OptionSpec = {
  name: 'api-group',
  value: 'GROUP',
  default: 'management.gitplane.dev',
  help: 'name of the management API group',
};

/** One answer for the daemon and for the commands that show what it will do. */
export const REFERENCE_NAMES: OptionSpec = {
  name: 'reference-names',
  value: 'FORM',
  default: 'short',
  help: 'how tenants name what they refer to: short (v…) or concat (name-x-namespace-x-tenant)',
};

export const ETCD_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'state-key',
    value: 'FILE',
    help: 'key that seals what is in etcd, the same on every replica (64 hexadecimal digits)',
  },
  { name: 'etcd-prefix', value: 'KEY', default: '/gitplane/', help: 'where everything is in etcd' },
  { name: 'etcd-ca', value: 'FILE', help: 'authorities (PEM) to trust for etcd' },
  { name: 'etcd-cert', value: 'FILE', help: 'certificate (PEM) to show to etcd' },
  { name: 'etcd-key', value: 'FILE', help: 'its private key (PEM)' },
  { name: 'etcd-user', value: 'NAME', help: 'user name in etcd' },
  { name: 'etcd-password-file', value: 'FILE', help: 'file with its password' },
];

/** Of commands that work without a daemon. */
export const KEY_FILES: OptionSpec = {
  name: 'age-key-file',
  value: 'FILE',
  multiple: true,
  variable: 'SOPS_AGE_KEY_FILE',
  help: 'age identities that open sealed files; default: data/age.key where there is one',
};

/** Of commands that seal. */
export const PGP_KEYS: OptionSpec = {
  name: 'pgp-keys',
  value: 'FILE',
  help: 'public keys (gpg --armor --export) of PGP recipients in .sops.yaml; default: .sops.pub.asc beside it',
};
