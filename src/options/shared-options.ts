/** Options that several commands take. */
import type { OptionSpec } from './option-spec.ts';

export const API_GROUP: OptionSpec = {
  name: 'api-group',
  value: 'GROUP',
  default: 'management.gitplane.dev',
  help: 'name of the management API group',
};

/** Of every command that prints a result. The first choice is the default. */
export function outputOption(...choices: readonly string[]): OptionSpec {
  const [first = ''] = choices;
  return {
    name: 'output',
    short: 'o',
    value: 'FORMAT',
    choices,
    default: first,
    help: 'format of the result, and with json of errors',
  };
}

export const OUTPUT = outputOption('text', 'json');

/** The same for the daemon and for the commands that show its changes in advance. */
export const REFERENCE_NAMES: OptionSpec = {
  name: 'reference-names',
  value: 'FORM',
  default: 'short',
  choices: ['short', 'concat'],
  help: 'form of translated names in references; short is v…, concat is name-x-namespace-x-tenant',
};

export const ETCD_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'state-key',
    group: 'State and replicas',
    value: 'FILE',
    help: 'encryption key of the data in etcd, the same on every replica (64 hexadecimal digits)',
  },
  {
    name: 'etcd-prefix',
    group: 'State and replicas',
    value: 'KEY',
    default: '/gitplane/',
    help: 'prefix of all keys in etcd',
  },
  {
    name: 'etcd-ca',
    group: 'State and replicas',
    value: 'FILE',
    help: 'CA certificates (PEM) to trust for etcd',
  },
  {
    name: 'etcd-cert',
    group: 'State and replicas',
    value: 'FILE',
    help: 'client certificate (PEM) for etcd',
  },
  {
    name: 'etcd-key',
    group: 'State and replicas',
    value: 'FILE',
    help: 'private key of --etcd-cert (PEM)',
  },
  { name: 'etcd-user', group: 'State and replicas', value: 'NAME', help: 'user name in etcd' },
  {
    name: 'etcd-password-file',
    group: 'State and replicas',
    value: 'FILE',
    help: 'file with the password of --etcd-user',
  },
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

/** Of clients of a daemon. */
export const CONNECTION_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'kubeconfig',
    value: 'FILE',
    default: 'data/kubeconfig',
    variable: 'KUBECONFIG',
    help: 'kubeconfig of the platform; also read from $KUBECONFIG',
  },
  API_GROUP,
  OUTPUT,
];
