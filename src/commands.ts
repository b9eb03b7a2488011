/** Implementations of the commands in the table of `options/`. */
import {
  COMMAND_TABLE,
  type CommandName,
  completionScript,
  type ParsedOptions,
  readShell,
} from './options/index.ts';
import { VERSION } from './version.ts';

/** Resolves to the exit status. */
type Run = (options: ParsedOptions) => Promise<number>;

/** Read when a command runs: access to `process.stdin` opens it. */
function streams(): { stdin: typeof process.stdin; out: typeof process.stdout } {
  return { stdin: process.stdin, out: process.stdout };
}

/** A command is loaded when it runs, so that it does not wait for the modules of another. */
export const RUNNERS: Readonly<Record<CommandName, Run>> = {
  serve: async (options) => (await import('./daemon/serve.ts')).serve(options, process.stdout),
  status: async (options) =>
    (await import('./cli/status.ts')).status(options, { out: process.stdout, now: Date.now() }),
  approve: async (options) => (await import('./cli/approve.ts')).approve(options, process.stdout),
  suspend: async (options) => (await import('./cli/suspend.ts')).suspend(options, process.stdout),
  resume: async (options) => (await import('./cli/suspend.ts')).resume(options, process.stdout),
  doctor: async (options) => (await import('./daemon/doctor.ts')).doctor(options, process.stdout),
  backup: async (options) =>
    (await import('./daemon/backup/backup.ts')).backup(options, process.stdout),
  restore: async (options) =>
    (await import('./daemon/backup/restore.ts')).restore(options, process.stdout),
  state: async (options) =>
    (await import('./daemon/state/migrate-command.ts')).state(options, process.stdout),
  validate: async (options) =>
    (await import('./cli/validate.ts')).validate(options, process.stdout),
  plan: async (options) => (await import('./cli/plan.ts')).plan(options, process.stdout),
  diff: async (options) => (await import('./cli/diff.ts')).diff(options, streams()),
  import: async (options) => (await import('./cli/import.ts')).importObjects(options, streams()),
  patches: async (options) => (await import('./cli/patches.ts')).patches(options, streams()),
  crds: async (options) => (await import('./cli/crds.ts')).crds(options, process.stdout),
  repo: async (options) => (await import('./cli/fan-out.ts')).repo(options, process.stdout),
  seal: async (options) => (await import('./cli/seal.ts')).seal(options, process.stdout),
  unseal: async (options) => (await import('./cli/seal.ts')).unseal(options, process.stdout),
  edit: async (options) => (await import('./cli/seal.ts')).edit(options, process.stdout),
  rotate: async (options) => (await import('./cli/seal.ts')).rotate(options, process.stdout),
  recipients: async (options) =>
    (await import('./cli/seal.ts')).recipients(options, process.stdout),
  login: async (options) => (await import('./cli/login.ts')).login(options, streams()),
  logout: async (options) => (await import('./cli/login.ts')).logout(options, process.stdout),
  whoami: async (options) => (await import('./cli/login.ts')).whoami(options, process.stdout),
  kubeconfig: async (options) =>
    (await import('./cli/keys.ts')).kubeconfig(options, process.stdout),
  keys: async (options) => (await import('./cli/keys.ts')).keys(options, process.stdout),
  users: async (options) => (await import('./cli/users.ts')).users(options, streams()),
  secrets: async (options) => (await import('./cli/secrets.ts')).secrets(options, streams()),
  token: async (options) =>
    (await import('./cli/token.ts')).token(options, { ...streams(), now: Date.now() }),
  credential: async (options) =>
    (await import('./cli/credential.ts')).credential(options, {
      out: process.stdout,
      now: Date.now(),
    }),
  completion: async (options) => {
    process.stdout.write(completionScript(readShell(options), COMMAND_TABLE));
    return 0;
  },
  version: async (options) => {
    const { print } = await import('./cli/print.ts');
    print(options, process.stdout, { text: `gitplane ${VERSION}\n`, json: { version: VERSION } });
    return 0;
  },
};
