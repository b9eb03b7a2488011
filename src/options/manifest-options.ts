/** Options of commands that work on files and commits, without a daemon. */
import type { OptionSpec } from './option-spec.ts';
import { SERVE_OPTIONS } from './serve-options.ts';
import { API_GROUP, KEY_FILES, REFERENCE_NAMES } from './shared-options.ts';

/** Of commands that otherwise read files on the disk. */
const REVISION: OptionSpec = {
  name: 'rev',
  value: 'REV',
  help: 'read files of this commit instead of those on disk',
};

export const VALIDATE_OPTIONS: readonly OptionSpec[] = [
  REVISION,
  { name: 'format', value: 'FORMAT', default: 'text', help: 'text, json, sarif or github' },
  KEY_FILES,
  API_GROUP,
];

export const CRDS_OPTIONS: readonly OptionSpec[] = [
  { name: 'format', value: 'FORMAT', default: 'yaml', help: 'yaml or json' },
  API_GROUP,
];

/** Those of the daemon that a plan depends on. */
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
    help: 'a clone or a bare repository; default: the one in --data-dir, else the folder you are in',
  },
  {
    name: 'base',
    value: 'REV',
    help: 'what to compare with; default: --branch, as it was fetched or as it is here',
  },
  {
    name: 'endpoints',
    value: 'FILE',
    multiple: true,
    help: 'Endpoints of tenants (YAML or JSON) to show the effect of changed patches on; -: standard input',
  },
  { name: 'format', value: 'FORMAT', default: 'text', help: 'text or json' },
  KEY_FILES,
  ...SERVE_OPTIONS.filter(({ name }) => SHARED_WITH_SERVE.includes(name)),
];

export const PATCHES_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'file',
    short: 'f',
    value: 'FILE',
    default: 'vcluster.yaml',
    help: 'the configuration of the tenant, with sync.toHost.endpoints.patches',
  },
  { ...REVISION, help: 'read --file from this commit instead of from disk' },
  {
    name: 'input',
    short: 'i',
    value: 'FILE',
    multiple: true,
    help: 'objects to try the patches on (YAML or JSON); -: standard input',
  },
  { name: 'reverse', help: 'the way back, from the control plane to the tenant' },
  {
    name: 'patches-only',
    help: 'take the objects as they are, without the translation of names before the patches',
  },
  {
    name: 'tenant',
    value: 'NAME',
    help: 'name of the tenant; default: the folder, as in tenants/NAME/vcluster.yaml',
  },
  {
    name: 'namespace',
    value: 'NAME',
    help: 'namespace of the control plane that gets its objects; default: as the file says',
  },
  { name: 'mode', value: 'MODE', help: 'namespaces: single or multi; default: as the file says' },
  REFERENCE_NAMES,
  { name: 'output', short: 'o', value: 'FORM', default: 'diff', help: 'diff or json' },
];
