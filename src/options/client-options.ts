/** Options of commands that talk to a daemon, and of those that sign in to one. */
import type { OptionSpec } from './option-spec.ts';
import { API_GROUP, OUTPUT, outputOption } from './shared-options.ts';

const CONNECTION_OPTIONS: readonly OptionSpec[] = [
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

export const STATUS_OPTIONS: readonly OptionSpec[] = CONNECTION_OPTIONS;

export const DIFF_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'from-context',
    value: 'NAME',
    help: 'compare the objects of a context of kubectl, in place of files',
  },
  ...CONNECTION_OPTIONS,
];

const LOGIN_STORE: OptionSpec = {
  name: 'config-dir',
  value: 'DIR',
  help: 'directory for the keys of logins; default: gitplane in $XDG_CONFIG_HOME or ~/.config',
};

export const CREDENTIAL_OPTIONS: readonly OptionSpec[] = [LOGIN_STORE, outputOption('json')];

export const WHOAMI_OPTIONS: readonly OptionSpec[] = [
  { name: 'context', value: 'NAME', help: 'context of the login; default: the current context' },
  {
    name: 'kubeconfig',
    value: 'FILE',
    help: 'single kubeconfig to use; default: $KUBECONFIG, else ~/.kube/config',
  },
  LOGIN_STORE,
  OUTPUT,
];

export const LOGIN_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'headless',
    help: 'print a code to enter in a browser on another device; the default without a browser',
  },
  {
    name: 'access-key',
    value: 'KEY',
    help: 'sign in with this key instead of a browser; -: read it from standard input, which is safer',
  },
  { name: 'ca-file', value: 'FILE', help: 'CA certificate of the server (PEM)' },
  { name: 'insecure', help: 'skip certificate verification; also written to the kubeconfig' },
  ...WHOAMI_OPTIONS,
];

export const TOKEN_OPTIONS: readonly OptionSpec[] = [
  { name: 'issuer', value: 'URL', help: 'required issuer of the token' },
  {
    name: 'jwks',
    value: 'FILE',
    help: 'public keys of the issuer; default: fetched from --issuer',
  },
  {
    name: 'ca-file',
    value: 'FILE',
    help: 'CA certificate (PEM) to trust when the keys are fetched',
  },
  {
    name: 'audience',
    value: 'NAME',
    multiple: true,
    help: 'accepted audience of the token, as in gitplane:cluster:NAME; one match is enough',
  },
  outputOption('json'),
];

const KEY_OPTIONS: readonly OptionSpec[] = [
  { name: 'user', value: 'NAME', help: 'user that the key acts as' },
  { name: 'team', value: 'NAME', help: 'team that the key acts as, instead of a user' },
  { name: 'ttl', value: 'DURATION', help: 'lifetime of the key, as in 12h or 30d' },
  { name: 'display-name', value: 'TEXT', help: 'display name of the key' },
];

export const KEYS_OPTIONS: readonly OptionSpec[] = [
  ...KEY_OPTIONS.map((option) => ({ ...option, actions: ['create'] })),
  ...CONNECTION_OPTIONS,
];

export const KUBECONFIG_OPTIONS: readonly OptionSpec[] = [
  ...KEY_OPTIONS,
  { name: 'file', value: 'FILE', help: 'new file with mode 0600; default: standard output' },
  ...CONNECTION_OPTIONS,
];

export const SECRETS_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'namespace',
    value: 'NAMESPACE',
    default: 'default',
    actions: ['get', 'set'],
    help: 'namespace of names without one',
  },
  { name: 'all-namespaces', actions: ['get'], help: 'list the secrets of all namespaces' },
  { name: 'project', actions: ['get', 'set'], help: 'project secrets, instead of shared ones' },
  {
    name: 'from-file',
    value: 'FILE',
    actions: ['set'],
    help: 'file with the value, byte for byte; default: standard input',
  },
  {
    name: 'allow-empty',
    actions: ['set'],
    help: 'accept an empty value without a question',
  },
  {
    name: 'now',
    actions: ['sync'],
    help: 'start a cycle instead of showing the result of the last one',
  },
  {
    name: 'wait',
    actions: ['sync'],
    help: 'with --now: wait for the end of the cycle; exit 1 when a secret needs attention',
  },
  {
    name: 'store',
    value: 'NAME',
    actions: ['sync'],
    help: 'with --now: synchronize this secret store only',
  },
  {
    name: 'allow-deletions',
    actions: ['sync'],
    help: 'with --now: approve every deletion of the cycle',
  },
  ...CONNECTION_OPTIONS,
];

export const USERS_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'from-file',
    value: 'FILE',
    help: 'file with the password; default: standard input, or a prompt',
  },
  { name: 'none', help: 'remove the password of the user' },
  ...CONNECTION_OPTIONS,
];

export const VERSION_OPTIONS: readonly OptionSpec[] = [OUTPUT];
