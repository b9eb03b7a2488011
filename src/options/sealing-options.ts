/** Options of commands that seal manifests and open them. */
import type { OptionSpec } from './option-spec.ts';
import { API_GROUP, KEY_FILES, PGP_KEYS } from './shared-options.ts';

const SEALING_OPTIONS: readonly OptionSpec[] = [KEY_FILES, PGP_KEYS, API_GROUP];

export const SEAL_OPTIONS: readonly OptionSpec[] = [
  { name: 'check', help: 'change nothing; exit 1 when a secret is in the clear' },
  { name: 'init', help: 'make .sops.yaml where there is none' },
  { name: 'recipient', value: 'AGE', multiple: true, help: 'for whom, with --init' },
  ...SEALING_OPTIONS,
];

export const UNSEAL_OPTIONS: readonly OptionSpec[] = [
  { name: 'in-place', help: 'write the files, instead of printing one' },
  ...SEALING_OPTIONS,
];

export const EDIT_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'editor',
    value: 'COMMAND',
    default: 'vi',
    variable: 'EDITOR',
    help: '$EDITOR counts too',
  },
  ...SEALING_OPTIONS,
];

export const REKEY_OPTIONS: readonly OptionSpec[] = [
  { name: 'commit', help: 'commit what was changed, and nothing else' },
  ...SEALING_OPTIONS,
];
