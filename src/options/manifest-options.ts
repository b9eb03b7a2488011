/** Options of commands that work on files and commits, without a daemon. */
import type { OptionSpec } from './option-spec.ts';
import { SERVE_OPTIONS } from './serve-options.ts';
import { API_GROUP, KEY_FILES, OUTPUT, outputOption, REFERENCE_NAMES } from './shared-options.ts';

/** Of commands that otherwise read files on the disk. */
const REVISION: OptionSpec = {
  name: 'rev',
  value: 'REV',
  help: 'read files of this commit instead of those on disk',
};

export const VALIDATE_OPTIONS: readonly OptionSpec[] = [
  REVISION,
  { ...outputOption('text', 'json', 'sarif', 'github', 'gitlab'), alias: 'format' },
  { name: 'allow-empty', help: 'accept a folder or commit without manifests' },
  KEY_FILES,
  API_GROUP,
];

export const CRDS_OPTIONS: readonly OptionSpec[] = [
  { ...outputOption('yaml', 'json'), alias: 'format' },
  API_GROUP,
];

/** Options of the daemon that change a plan. */
const SHARED_WITH_SERVE = [
  'data-dir',
  'branch',
  'path',
  'api-group',
  'prune-budget-objects',
  'prune-budget-percent',
  'push-max-paths',
  'reference-names',
];

export const PLAN_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'repo-dir',
    value: 'DIR',
    help: 'clone or bare repository; default: the one in --data-dir, else the current folder',
  },
  {
    name: 'base',
    value: 'REV',
    help: "revision to compare with; default: origin's --branch as last fetched, else the local one",
  },
  {
    name: 'endpoints',
    value: 'FILE',
    multiple: true,
    help: 'Endpoints of tenants (YAML or JSON), to show the effect of changed patches; -: standard input',
  },
  { ...OUTPUT, alias: 'format' },
  KEY_FILES,
  ...SERVE_OPTIONS.filter(({ name }) => SHARED_WITH_SERVE.includes(name)),
];

export const REPO_OPTIONS: readonly OptionSpec[] = [
  { name: 'dry-run', help: 'print the moves, and change nothing' },
  {
    name: 'rev',
    value: 'REV',
    help: 'commit on top of this commit, without a checkout, and print the id of the new commit',
  },
  OUTPUT,
  ...SERVE_OPTIONS.filter(({ name }) => name === 'path'),
];

export const PATCHES_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'file',
    short: 'f',
    value: 'FILE',
    default: 'vcluster.yaml',
    help: 'configuration of the tenant, with sync.toHost.endpoints.patches',
  },
  { ...REVISION, help: 'read --file from this commit instead of from disk' },
  {
    name: 'input',
    short: 'i',
    value: 'FILE',
    multiple: true,
    help: 'objects to apply the patches to (YAML or JSON); -: standard input',
  },
  { name: 'reverse', help: 'apply the patches in reverse, from the control plane to the tenant' },
  {
    name: 'patches-only',
    help: 'apply the patches without the translation of names before them',
  },
  {
    name: 'tenant',
    value: 'NAME',
    help: 'name of the tenant; default: its folder, as in tenants/NAME/vcluster.yaml',
  },
  {
    name: 'namespace',
    value: 'NAME',
    help: 'target namespace on the control plane; default: from --file',
  },
  {
    name: 'mode',
    value: 'MODE',
    choices: ['single', 'multi'],
    help: 'namespace mode, in place of that of --file',
  },
  REFERENCE_NAMES,
  outputOption('diff', 'json'),
];
