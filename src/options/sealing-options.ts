/** Options of commands that encrypt and decrypt manifests. */
import type { OptionSpec } from './option-spec.ts';
import { API_GROUP, KEY_FILES, OUTPUT, PGP_KEYS } from './shared-options.ts';

const SEALING_OPTIONS: readonly OptionSpec[] = [KEY_FILES, PGP_KEYS, API_GROUP, OUTPUT];

export const SEAL_OPTIONS: readonly OptionSpec[] = [
  { name: 'check', help: 'change nothing; exit 1 when a secret is plaintext' },
  { name: 'init', help: 'create .sops.yaml where there is none' },
  { name: 'recipient', value: 'AGE', multiple: true, help: 'age recipient for --init' },
  ...SEALING_OPTIONS,
];

export const IMPORT_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'from-context',
    value: 'NAME',
    help: 'import the objects of a context of kubectl, in place of files; runs kubectl',
  },
  { name: 'to', value: 'DIR', default: '.', help: 'folder of the manifests, in a work tree' },
  { name: 'commit', help: 'commit the new files, and nothing else' },
  ...SEALING_OPTIONS,
];

export const UNSEAL_OPTIONS: readonly OptionSpec[] = [
  { name: 'in-place', help: 'write the decrypted files instead of printing one' },
  ...SEALING_OPTIONS,
];

export const EDIT_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'editor',
    value: 'COMMAND',
    default: 'vi',
    variable: 'EDITOR',
    help: 'editor command; also read from $EDITOR',
  },
  ...SEALING_OPTIONS,
];

export const REKEY_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'commit',
    actions: ['add', 'remove'],
    help: 'commit the changed files, and nothing else',
  },
  ...SEALING_OPTIONS,
];
