/** Options of commands for operators of a daemon: moving its state, checking it. */
import type { OptionSpec } from './option-spec.ts';
import { SERVE_OPTIONS } from './serve-options.ts';
import { ETCD_OPTIONS, OUTPUT } from './shared-options.ts';

export const STATE_OPTIONS: readonly OptionSpec[] = [
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

export const BACKUP_OPTIONS: readonly OptionSpec[] = [
  ...SERVE_OPTIONS.filter(({ name }) => ['data-dir', 'branch'].includes(name)),
  {
    name: 'recipient',
    value: 'AGE',
    multiple: true,
    help: 'age recipient whose identity opens the backup; keep that identity elsewhere',
  },
  OUTPUT,
];

export const RESTORE_OPTIONS: readonly OptionSpec[] = [
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
export const DOCTOR_OPTIONS: readonly OptionSpec[] = [...SERVE_OPTIONS, OUTPUT];
