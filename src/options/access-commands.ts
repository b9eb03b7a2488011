/** Commands of clients of a daemon. */
import {
  CREDENTIAL_OPTIONS,
  KEYS_OPTIONS,
  KUBECONFIG_OPTIONS,
  LOGIN_OPTIONS,
  SECRETS_OPTIONS,
  TOKEN_OPTIONS,
  USERS_OPTIONS,
  VERSION_OPTIONS,
  WHOAMI_OPTIONS,
} from './client-options.ts';
import type { CommandSpec } from './command-spec.ts';

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
    options: VERSION_OPTIONS,
    examples: [
      { purpose: 'Print the version.', command: 'gitplane version' },
      { purpose: 'Print it for a program.', command: 'gitplane version -o json' },
    ],
  },
} satisfies Readonly<Record<string, CommandSpec>>;
