/** Commands of clients of a daemon. */
import type { CommandSpec } from './command-spec.ts';
import type { OptionSpec } from './option-spec.ts';
import { CONNECTION_OPTIONS, OUTPUT, outputOption } from './shared-options.ts';

const LOGIN_STORE: OptionSpec = {
  name: 'config-dir',
  value: 'DIR',
  help: 'directory for the keys of logins; default: gitplane in $XDG_CONFIG_HOME or ~/.config',
};

const CREDENTIAL_OPTIONS: readonly OptionSpec[] = [LOGIN_STORE, outputOption('json')];

const WHOAMI_OPTIONS: readonly OptionSpec[] = [
  { name: 'context', value: 'NAME', help: 'context of the login; default: the current context' },
  {
    name: 'kubeconfig',
    value: 'FILE',
    help: 'single kubeconfig to use; default: $KUBECONFIG, else ~/.kube/config',
  },
  LOGIN_STORE,
  OUTPUT,
];

const LOGIN_OPTIONS: readonly OptionSpec[] = [
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

const TOKEN_OPTIONS: readonly OptionSpec[] = [
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

const KEYS_OPTIONS: readonly OptionSpec[] = [
  ...KEY_OPTIONS.map((option) => ({ ...option, actions: ['create'] })),
  ...CONNECTION_OPTIONS,
];

const KUBECONFIG_OPTIONS: readonly OptionSpec[] = [
  ...KEY_OPTIONS,
  { name: 'file', value: 'FILE', help: 'new file with mode 0600; default: standard output' },
  ...CONNECTION_OPTIONS,
];

const SECRETS_OPTIONS: readonly OptionSpec[] = [
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

const USERS_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'from-file',
    value: 'FILE',
    help: 'file with the password; default: standard input, or a prompt',
  },
  { name: 'none', help: 'remove the password of the user' },
  ...CONNECTION_OPTIONS,
];

export const ACCESS_COMMANDS = {
  login: {
    group: 'Access',
    summary: 'sign in with a browser and create a context for kubectl',
    operands: '[SERVER]',
    options: LOGIN_OPTIONS,
    examples: [
      { purpose: 'Sign in.', command: 'gitplane login https://platform.example.com' },
      {
        purpose: 'Sign in on a machine without a browser.',
        command: 'gitplane login --headless https://platform.example.com',
      },
    ],
  },
  logout: {
    group: 'Access',
    summary: 'revoke the key of a login and remove its context',
    operands: '[SERVER]',
    options: WHOAMI_OPTIONS,
    examples: [
      { purpose: 'Sign out of the current context.', command: 'gitplane logout' },
      {
        purpose: 'Sign out of one server.',
        command: 'gitplane logout https://platform.example.com',
      },
    ],
  },
  whoami: {
    group: 'Access',
    summary: 'show the user of a login',
    operands: '[SERVER]',
    options: WHOAMI_OPTIONS,
    examples: [
      { purpose: 'Show the user of the current context.', command: 'gitplane whoami' },
      { purpose: 'Print the groups of the user.', command: 'gitplane whoami -o json | jq .groups' },
    ],
  },
  kubeconfig: {
    group: 'Access',
    summary: 'print a kubeconfig with a new access key',
    options: KUBECONFIG_OPTIONS,
    examples: [
      {
        purpose: 'Create a kubeconfig for a pipeline.',
        command: 'gitplane kubeconfig --user ci --ttl 30d --file ci.kubeconfig',
      },
      {
        purpose: 'Print one whose key acts as a team.',
        command: 'gitplane kubeconfig --team payments --ttl 12h',
      },
    ],
  },
  keys: {
    group: 'Access',
    summary: 'create, list, rotate or revoke access keys',
    actions: {
      create: { summary: 'create a key and print it', operands: '[NAME]' },
      list: { summary: 'list the keys' },
      rotate: { summary: 'replace the text of a key and print it', operands: 'NAME' },
      revoke: { summary: 'delete a key; it is refused at once', operands: 'NAME' },
    },
    options: KEYS_OPTIONS,
    examples: [
      {
        purpose: 'Create a key for a user.',
        command: 'gitplane keys create ci --user ci --ttl 30d',
      },
      { purpose: 'List the keys.', command: 'gitplane keys list' },
      { purpose: 'Replace a key that has leaked.', command: 'gitplane keys rotate ci' },
      { purpose: 'Delete a key.', command: 'gitplane keys revoke ci' },
    ],
  },
  users: {
    group: 'Access',
    summary: 'set or remove the password of a user',
    actions: {
      passwd: { summary: 'set a password, from a prompt or standard input', operands: 'NAME' },
    },
    options: USERS_OPTIONS,
    examples: [
      { purpose: 'Set a password from a prompt.', command: 'gitplane users passwd anna' },
      { purpose: 'Remove the password.', command: 'gitplane users passwd --none anna' },
    ],
  },
  secrets: {
    group: 'Access',
    summary: 'read and set values of secrets, and synchronize the secret store',
    actions: {
      get: { summary: 'list secrets, the keys of one, or print a value', operands: '[NAME] [KEY]' },
      set: {
        summary: 'set a value from standard input or a file',
        operands: 'NAME KEY',
        // The further operand is not repeated: it may be a secret.
        excess:
          'A value is not for the command line, where others can see it: pipe it in, or name a file with --from-file',
      },
      sync: { summary: 'show the state of the secret store, or start a cycle' },
    },
    options: SECRETS_OPTIONS,
    examples: [
      { purpose: 'Print one value.', command: 'gitplane secrets get payments/db password' },
      {
        purpose: 'Set a value from a file.',
        command: 'gitplane secrets set payments/db password --from-file password.txt',
      },
      {
        purpose: 'Synchronize now, and wait for the result.',
        command: 'gitplane secrets sync --now --wait',
      },
    ],
  },
  token: {
    group: 'Access',
    summary: 'verify an endpoint token',
    actions: {
      verify: {
        summary: 'print the claims of a token; exit 1 when it is not valid',
        operands: '[TOKEN]',
      },
    },
    options: TOKEN_OPTIONS,
    examples: [
      {
        purpose: 'Verify a token with the published keys of its issuer.',
        command: 'gitplane token verify --issuer https://platform.example.com < token',
      },
      {
        purpose: 'Verify it for one cluster, with keys from a file.',
        command: 'gitplane token verify --jwks keys.json --audience gitplane:cluster:blue < token',
      },
    ],
  },
  credential: {
    group: 'Access',
    summary: 'print the key of a login for kubectl; kubeconfigs of gitplane login run it',
    operands: 'NAME',
    options: CREDENTIAL_OPTIONS,
    examples: [
      {
        purpose: 'Print the ExecCredential of a login.',
        command: 'gitplane credential gitplane-platform.example.com',
      },
      {
        purpose: 'Print the key alone.',
        command: 'gitplane credential gitplane-platform.example.com | jq -r .status.token',
      },
    ],
  },
  completion: {
    group: 'Other',
    summary: 'print the completion script of a shell',
    operands: 'SHELL',
    options: [],
    examples: [
      {
        purpose: 'Complete in this bash.',
        command: 'source <(gitplane completion bash)',
      },
      {
        purpose: 'Complete in every zsh.',
        command: 'gitplane completion zsh > ~/.zfunc/_gitplane',
      },
      {
        purpose: 'Complete in every fish.',
        command: 'gitplane completion fish > ~/.config/fish/completions/gitplane.fish',
      },
    ],
  },
  version: {
    group: 'Other',
    summary: 'print the version',
    options: [OUTPUT],
    examples: [
      { purpose: 'Print the version.', command: 'gitplane version' },
      { purpose: 'Print it for a program.', command: 'gitplane version -o json' },
    ],
  },
} satisfies Readonly<Record<string, CommandSpec>>;
