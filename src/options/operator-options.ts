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

/** Options of the daemon whose data directory is checked. */
export const DOCTOR_OPTIONS: readonly OptionSpec[] = [...SERVE_OPTIONS, OUTPUT];
