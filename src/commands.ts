/** Commands with their summary, operands, options and module. */
import {
  CRDS_OPTIONS,
  CREDENTIAL_OPTIONS,
  DOCTOR_OPTIONS,
  EDIT_OPTIONS,
  KEYS_OPTIONS,
  KUBECONFIG_OPTIONS,
  LOGIN_OPTIONS,
  type OptionSpec,
  PATCHES_OPTIONS,
  type ParsedOptions,
  PLAN_OPTIONS,
  REKEY_OPTIONS,
  SEAL_OPTIONS,
  SECRETS_OPTIONS,
  SERVE_OPTIONS,
  STATE_OPTIONS,
  TOKEN_OPTIONS,
  UNSEAL_OPTIONS,
  USERS_OPTIONS,
  VALIDATE_OPTIONS,
  WHOAMI_OPTIONS,
} from './options/index.ts';
import { VERSION } from './version.ts';

interface Command {
  readonly summary: string;
  readonly operands: string;
  readonly options: readonly OptionSpec[];
  /** Resolves to the exit status. */
  run(options: ParsedOptions): Promise<number>;
}

/** Read when a command runs: access to `process.stdin` opens it. */
function streams(): { stdin: typeof process.stdin; out: typeof process.stdout } {
  return { stdin: process.stdin, out: process.stdout };
}

/** A command is loaded when it runs, so that it does not wait for the modules of another. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    summary: 'run the daemon',
    operands: '',
    options: SERVE_OPTIONS,
    run: async (options) => (await import('./daemon/serve.ts')).serve(options, process.stdout),
  },
  validate: {
    summary: 'check manifests as a push would; exit 1 on errors',
    operands: '[PATH…]',
    options: VALIDATE_OPTIONS,
    run: async (options) => (await import('./cli/validate.ts')).validate(options, process.stdout),
  },
  plan: {
    summary: 'show the changes of a commit; exit 1 when it would be refused or held',
    operands: 'REV',
    options: PLAN_OPTIONS,
    run: async (options) => (await import('./cli/plan.ts')).plan(options, process.stdout),
  },
  patches: {
    summary: 'apply endpoint patches to objects and explain each step; exit 1 when one fails',
    operands: 'test',
    options: PATCHES_OPTIONS,
    run: async (options) => (await import('./cli/patches.ts')).patches(options, streams()),
  },
  crds: {
    summary: 'print the kinds as CustomResourceDefinitions of Kubernetes',
    operands: '',
    options: CRDS_OPTIONS,
    run: async (options) => (await import('./cli/crds.ts')).crds(options, process.stdout),
  },
  keys: {
    summary: 'access keys: create [NAME], list, rotate NAME, revoke NAME',
    operands: 'ACTION [NAME]',
    options: KEYS_OPTIONS,
    run: async (options) => (await import('./cli/keys.ts')).keys(options, process.stdout),
  },
  kubeconfig: {
    summary: 'print a kubeconfig with a new access key',
    operands: '',
    options: KUBECONFIG_OPTIONS,
    run: async (options) => (await import('./cli/keys.ts')).kubeconfig(options, process.stdout),
  },
  login: {
    summary: 'sign in with a browser and create a context for kubectl',
    operands: '[SERVER]',
    options: LOGIN_OPTIONS,
    run: async (options) => (await import('./cli/login.ts')).login(options, streams()),
  },
  logout: {
    summary: 'revoke the key of a login and remove its context',
    operands: '[SERVER]',
    options: WHOAMI_OPTIONS,
    run: async (options) => (await import('./cli/login.ts')).logout(options, process.stdout),
  },
  whoami: {
    summary: 'show the user of a login',
    operands: '[SERVER]',
    options: WHOAMI_OPTIONS,
    run: async (options) => (await import('./cli/login.ts')).whoami(options, process.stdout),
  },
  credential: {
    summary: 'print the key of a login for kubectl; run by kubeconfigs of gitplane login',
    operands: 'NAME',
    options: CREDENTIAL_OPTIONS,
    run: async (options) =>
      (await import('./cli/credential.ts')).credential(options, {
        out: process.stdout,
        now: Date.now(),
      }),
  },
  token: {
    summary: 'verify an endpoint token and print its claims; exit 1 when it is not valid',
    operands: 'verify [TOKEN]',
    options: TOKEN_OPTIONS,
    run: async (options) =>
      (await import('./cli/token.ts')).token(options, { ...streams(), now: Date.now() }),
  },
  secrets: {
    summary:
      'values of secrets: get [NAME [KEY]], set NAME KEY; synchronization with the secret store: sync',
    operands: 'ACTION [[NAMESPACE/]NAME [KEY]]',
    options: SECRETS_OPTIONS,
    run: async (options) => (await import('./cli/secrets.ts')).secrets(options, streams()),
  },
  users: {
    summary: 'users: passwd NAME sets a password',
    operands: 'passwd NAME',
    options: USERS_OPTIONS,
    run: async (options) => (await import('./cli/users.ts')).users(options, streams()),
  },
  seal: {
    summary: 'encrypt the secrets of manifests for the recipients in .sops.yaml',
    operands: '[PATH…]',
    options: SEAL_OPTIONS,
    run: async (options) => (await import('./cli/seal.ts')).seal(options, process.stdout),
  },
  unseal: {
    summary: 'print a manifest with its secrets decrypted',
    operands: 'PATH',
    options: UNSEAL_OPTIONS,
    run: async (options) => (await import('./cli/seal.ts')).unseal(options, process.stdout),
  },
  edit: {
    summary: 'edit an encrypted manifest in $EDITOR and encrypt the result',
    operands: 'PATH',
    options: EDIT_OPTIONS,
    run: async (options) => (await import('./cli/seal.ts')).edit(options, process.stdout),
  },
  rotate: {
    summary: 'encrypt manifests with new data keys, for the recipients in .sops.yaml',
    operands: '[PATH…]',
    options: REKEY_OPTIONS,
    run: async (options) => (await import('./cli/seal.ts')).rotate(options, process.stdout),
  },
  recipients: {
    summary: 'recipients of encrypted manifests: list, add RECIPIENT, remove RECIPIENT',
    operands: 'ACTION [RECIPIENT]',
    options: REKEY_OPTIONS,
    run: async (options) => (await import('./cli/seal.ts')).recipients(options, process.stdout),
  },
  state: {
    summary: 'migrate: copy the state to or from etcd, while no daemon runs',
    operands: 'migrate',
    options: STATE_OPTIONS,
    run: async (options) =>
      (await import('./daemon/state/migrate-command.ts')).state(options, process.stdout),
  },
  doctor: {
    summary: 'check a data directory and print the remedy of each problem; exit 1 on problems',
    operands: '',
    options: DOCTOR_OPTIONS,
    run: async (options) => (await import('./daemon/doctor.ts')).doctor(options, process.stdout),
  },
  version: {
    summary: 'print the version',
    operands: '',
    options: [],
    run: async () => {
      process.stdout.write(`gitplane ${VERSION}\n`);
      return 0;
    },
  },
};
