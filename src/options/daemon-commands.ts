/** Commands for operators of a daemon. */
import type { CommandSpec } from './command-spec.ts';
import { DOCTOR_OPTIONS, STATE_OPTIONS } from './operator-options.ts';
import { SERVE_OPTIONS } from './serve-options.ts';

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
