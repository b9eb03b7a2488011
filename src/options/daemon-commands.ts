/** Commands for operators of a daemon. */
import type { CommandSpec } from './command-spec.ts';
import type { OptionSpec } from './option-spec.ts';
import { SERVE_OPTIONS } from './serve-options.ts';
import { CONNECTION_OPTIONS, ETCD_OPTIONS, OUTPUT } from './shared-options.ts';

const STATE_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'from',
    value: 'WHERE',
    help: 'storage to copy from: embedded, or etcd://HOST:PORT[,HOST:PORT…]',
  },
  {
    name: 'to',
    value: 'WHERE',
    help: 'storage to copy to, of the other type; must be empty',
  },
  ...SERVE_OPTIONS.filter(({ name }) => ['data-dir', 'branch', 'api-group'].includes(name)),
  ...ETCD_OPTIONS,
  OUTPUT,
];

const DATA_DIRECTORY = SERVE_OPTIONS.filter(({ name }) => name === 'data-dir');

const BACKUP_OPTIONS: readonly OptionSpec[] = [
  ...SERVE_OPTIONS.filter(({ name }) => ['data-dir', 'branch'].includes(name)),
  {
    name: 'recipient',
    value: 'AGE',
    multiple: true,
    help: 'age recipient whose identity opens the backup; keep that identity elsewhere',
  },
  OUTPUT,
];

const RESTORE_OPTIONS: readonly OptionSpec[] = [
  ...DATA_DIRECTORY,
  {
    name: 'age-key-file',
    value: 'FILE',
    multiple: true,
    variable: 'SOPS_AGE_KEY_FILE',
    help: 'age identities that open the backup',
  },
  OUTPUT,
];

/** Options of the daemon whose data directory is checked. */
const DOCTOR_OPTIONS: readonly OptionSpec[] = [...SERVE_OPTIONS, OUTPUT];

const SUSPEND_OPTIONS: readonly OptionSpec[] = [
  { name: 'reason', value: 'TEXT', help: 'reason, which status and the console show; required' },
  {
    name: 'for',
    value: 'DURATION',
    default: '24h',
    help: 'time after which the part runs again by itself, up to 2160h',
  },
  ...CONNECTION_OPTIONS,
];

const APPROVE_OPTIONS: readonly OptionSpec[] = [
  { name: 'reason', value: 'TEXT', help: 'reason, which the log records; required' },
  ...CONNECTION_OPTIONS,
];

export const DAEMON_COMMANDS = {
  serve: {
    group: 'Daemon',
    summary: 'run the daemon',
    options: SERVE_OPTIONS,
    examples: [
      {
        purpose: 'Host a repository, and fill it with a first commit.',
        command: 'gitplane serve --data-dir data --seed examples/platform',
      },
      {
        purpose: 'Follow a branch of a forge.',
        command:
          'gitplane serve --repo https://git.example.com/platform.git --repo-token-file token',
      },
    ],
  },
  status: {
    group: 'Daemon',
    summary: 'show the state of a platform on one screen; exit 1 when it is not well',
    options: CONNECTION_OPTIONS,
    examples: [
      {
        purpose: 'Show the platform of data/kubeconfig, or of the login.',
        command: 'gitplane status',
      },
      {
        purpose: 'Print objects that are served from their last good version.',
        command: "gitplane status -o json | jq '.degraded.items'",
      },
    ],
  },
  approve: {
    group: 'Daemon',
    summary: 'approve a commit that is held, or refused because it removes too much',
    operands: 'REVISION',
    options: APPROVE_OPTIONS,
    examples: [
      {
        purpose: 'Approve the commit that gitplane status shows as held.',
        command:
          'gitplane approve 8eae66e34c36a037843559e240b94c0e9af68427 --reason "the teams moved"',
      },
      {
        purpose: 'Approve a commit before its push.',
        command: 'gitplane approve "$REVISION" --reason "the teams moved" && git push',
      },
    ],
  },
  suspend: {
    group: 'Daemon',
    summary: 'stop following the remote, or a sync, until a time',
    actions: {
      remote: { summary: 'stop following the remote repository' },
      'secret-store': { summary: 'stop the sync of secrets with the stores', operands: '[NAME]' },
      tenants: { summary: 'stop the sync of tenants', operands: '[NAME]' },
    },
    options: SUSPEND_OPTIONS,
    examples: [
      {
        purpose: 'Stay at the present commit while a release is examined.',
        command: 'gitplane suspend remote --reason "release 4 is examined" --for 2h',
      },
      {
        purpose: 'Stop the sync of one tenant for a day.',
        command: 'gitplane suspend tenants blue --reason "its cluster is upgraded"',
      },
    ],
  },
  resume: {
    group: 'Daemon',
    summary: 'end a suspension before its time',
    actions: {
      remote: { summary: 'follow the remote repository' },
      'secret-store': { summary: 'resume the sync of secrets with the stores', operands: '[NAME]' },
      tenants: { summary: 'resume the sync of tenants', operands: '[NAME]' },
    },
    options: CONNECTION_OPTIONS,
    examples: [
      { purpose: 'Follow the remote again.', command: 'gitplane resume remote' },
      {
        purpose: 'Sync the secret store "vault" again.',
        command: 'gitplane resume secret-store vault',
      },
    ],
  },
  doctor: {
    group: 'Daemon',
    summary: 'check a data directory and print the remedy of each problem; exit 1 on problems',
    options: DOCTOR_OPTIONS,
    examples: [
      {
        purpose: 'Check the data directory of a daemon, which may be running.',
        command: 'gitplane doctor --data-dir data',
      },
      {
        purpose: 'Print the problems alone.',
        command: "gitplane doctor -o json | jq '.checks[] | select(.problem)'",
      },
    ],
  },
  backup: {
    group: 'Daemon',
    summary: 'write the repository, keys and state of a data directory to one encrypted file',
    operands: 'FILE',
    options: BACKUP_OPTIONS,
    examples: [
      {
        purpose: 'Back up a data directory, while the daemon runs.',
        command:
          'gitplane backup --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p platform.backup',
      },
      {
        purpose: 'Look into a backup with the tools of age and tar.',
        command:
          'gitplane backup --recipient "$RECIPIENT" x.backup && age -d -i key x.backup | tar tz',
      },
    ],
  },
  restore: {
    group: 'Daemon',
    summary: 'create a data directory from a backup',
    operands: 'FILE',
    options: RESTORE_OPTIONS,
    examples: [
      {
        purpose: 'Restore into an empty or new directory.',
        command: 'gitplane restore --age-key-file backup.key --data-dir data platform.backup',
      },
      {
        purpose: 'Drill: restore elsewhere, and start it on another port.',
        command:
          'gitplane restore --age-key-file backup.key --data-dir drill platform.backup && gitplane serve --data-dir drill --listen 127.0.0.1:9443',
      },
    ],
  },
  state: {
    group: 'Daemon',
    summary: 'copy the state to or from etcd, while no daemon runs',
    actions: { migrate: { summary: 'copy the state between a data directory and etcd' } },
    options: STATE_OPTIONS,
    examples: [
      {
        purpose: 'Move from one daemon to replicas.',
        command:
          'gitplane state migrate --from embedded --to etcd://etcd-0:2379 --state-key state.key',
      },
      {
        purpose: 'Move back.',
        command:
          'gitplane state migrate --from etcd://etcd-0:2379 --to embedded --state-key state.key',
      },
    ],
  },
} satisfies Readonly<Record<string, CommandSpec>>;
