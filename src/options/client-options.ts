/** Options of commands that talk to a daemon, and of those that sign in to one. */
import type { OptionSpec } from './option-spec.ts';
import { API_GROUP } from './shared-options.ts';

const CONNECTION_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'kubeconfig',
    value: 'FILE',
    default: 'data/kubeconfig',
    variable: 'KUBECONFIG',
    help: 'of the platform; $KUBECONFIG counts too',
  },
  API_GROUP,
];

const LOGIN_STORE: OptionSpec = {
  name: 'config-dir',
  value: 'DIR',
  help: 'where keys of logins are kept; default: gitplane in $XDG_CONFIG_HOME or ~/.config',
};

export const CREDENTIAL_OPTIONS: readonly OptionSpec[] = [LOGIN_STORE];

export const WHOAMI_OPTIONS: readonly OptionSpec[] = [
  { name: 'context', value: 'NAME', help: 'which login; default: the current context' },
  {
    name: 'kubeconfig',
    value: 'FILE',
    help: 'the only kubeconfig to use; default: $KUBECONFIG, else ~/.kube/config',
  },
  LOGIN_STORE,
];

export const LOGIN_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'headless',
    help: 'show a code for a browser elsewhere; the default where there is none',
  },
  {
    name: 'access-key',
    value: 'KEY',
    help: 'take this key and ask nobody; -: standard input. Better than on the command line',
  },
  { name: 'ca-file', value: 'FILE', help: 'authority of the server (PEM)' },
  { name: 'insecure', help: 'look at no certificate, now and in the kubeconfig' },
  ...WHOAMI_OPTIONS,
];

export const TOKEN_OPTIONS: readonly OptionSpec[] = [
  { name: 'issuer', value: 'URL', help: 'the platform that has to have issued it' },
  { name: 'jwks', value: 'FILE', help: 'its public keys; default: fetched from --issuer' },
  { name: 'ca-file', value: 'FILE', help: 'authority to trust when the keys are fetched (PEM)' },
  {
    name: 'audience',
    value: 'NAME',
    multiple: true,
    help: 'what the token has to be for, as in gitplane:cluster:NAME; any of several',
  },
];

const KEY_OPTIONS: readonly OptionSpec[] = [
  { name: 'user', value: 'NAME', help: 'the user that the key acts as' },
  { name: 'team', value: 'NAME', help: 'the team that the key acts as, instead of a user' },
  { name: 'ttl', value: 'DURATION', help: 'how long the key works, as in 12h or 30d' },
  { name: 'display-name', value: 'TEXT', help: 'what people call the key' },
];

export const KEYS_OPTIONS: readonly OptionSpec[] = [...KEY_OPTIONS, ...CONNECTION_OPTIONS];

export const KUBECONFIG_OPTIONS: readonly OptionSpec[] = [
  ...KEY_OPTIONS,
  { name: 'output', value: 'FILE', help: 'a new file for you alone; default: standard output' },
  ...CONNECTION_OPTIONS,
];

export const SECRETS_OPTIONS: readonly OptionSpec[] = [
  { name: 'namespace', value: 'NAMESPACE', default: 'default', help: 'of names without one' },
  { name: 'all-namespaces', help: 'get: list the secrets of all of them' },
  { name: 'project', help: 'project secrets, instead of shared ones' },
  {
    name: 'from-file',
    value: 'FILE',
    help: 'set: the value, byte for byte; default: standard input',
  },
  { name: 'now', help: 'sync: begin a cycle, instead of telling how the last one ended' },
  { name: 'wait', help: 'sync --now: wait for its end; exit 1 when a secret needs attention' },
  { name: 'store', value: 'NAME', help: 'sync --now: of this secret store alone' },
  { name: 'allow-deletions', help: 'sync --now: agree to however much it deletes' },
  ...CONNECTION_OPTIONS,
];

export const USERS_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'from-file',
    value: 'FILE',
    help: 'the password; default: standard input, or a question',
  },
  { name: 'none', help: 'the user has no password any more' },
  ...CONNECTION_OPTIONS,
];
