/** Commands on manifests and commits, without a daemon. */
import type { CommandSpec } from './command-spec.ts';
import {
  CRDS_OPTIONS,
  PATCHES_OPTIONS,
  PLAN_OPTIONS,
  REPO_OPTIONS,
  VALIDATE_OPTIONS,
} from './manifest-options.ts';
import type { OptionSpec } from './option-spec.ts';
import {
  EDIT_OPTIONS,
  IMPORT_OPTIONS,
  REKEY_OPTIONS,
  SEAL_OPTIONS,
  UNSEAL_OPTIONS,
} from './sealing-options.ts';
import { CONNECTION_OPTIONS } from './shared-options.ts';

const DIFF_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'from-context',
    value: 'NAME',
    help: 'compare the objects of a context of kubectl, in place of files',
  },
  ...CONNECTION_OPTIONS,
];

export const MANIFEST_COMMANDS = {
  validate: {
    group: 'Manifests',
    summary: 'check manifests as a push would; exit 1 on errors',
    operands: '[PATH…]',
    options: VALIDATE_OPTIONS,
    examples: [
      { purpose: 'Check the manifests of two folders.', command: 'gitplane validate teams users' },
      {
        purpose: 'Annotate a pull request from a GitHub workflow.',
        command: 'gitplane validate --rev HEAD -o github',
      },
      {
        purpose: 'Write a code quality report for GitLab.',
        command: 'gitplane validate -o gitlab > gl-code-quality-report.json',
      },
    ],
  },
  plan: {
    group: 'Manifests',
    summary: 'show the changes of a commit; exit 1 when it would be refused or held',
    operands: 'REV',
    options: PLAN_OPTIONS,
    examples: [
      {
        purpose:
          'Show the changes of the current commit, compared with the branch as last fetched.',
        command: 'gitplane plan HEAD',
      },
      {
        purpose: 'Compare two revisions, for a program.',
        command: 'gitplane plan feature --base main -o json',
      },
    ],
  },
  diff: {
    group: 'Manifests',
    summary:
      'compare files, or another cluster, with a platform; exit 1 on differences, 2 on failures',
    operands: '[PATH…]',
    options: DIFF_OPTIONS,
    failureStatus: 2,
    examples: [
      {
        purpose: 'Show the changes that an apply of a folder would make.',
        command: 'gitplane diff teams',
      },
      {
        purpose: 'Compare the objects of another cluster with the platform.',
        command: 'gitplane diff --from-context old-platform',
      },
      {
        purpose: 'Compare objects from standard input.',
        command: 'kubectl get teams -o yaml | gitplane diff - -o json',
      },
    ],
  },
  import: {
    group: 'Manifests',
    summary:
      'write objects of another management cluster as manifests; exit 1 when none is taken over',
    operands: '[PATH…]',
    options: IMPORT_OPTIONS,
    examples: [
      {
        purpose: 'Import the teams, roles, bindings and secrets of a cluster, as one commit.',
        command: 'gitplane import --from-context old-platform --to platform --commit',
      },
      {
        purpose: 'Import objects from a file, and print what was left out.',
        command: "gitplane import objects.yaml -o json | jq '.leftOut'",
      },
    ],
  },
  patches: {
    group: 'Manifests',
    summary: 'apply endpoint patches to objects and explain each step; exit 1 when one fails',
    actions: { test: { summary: 'apply the patches of a file to objects' } },
    options: PATCHES_OPTIONS,
    examples: [
      {
        purpose: 'Show the changes of each object.',
        command: 'gitplane patches test -f tenants/blue/vcluster.yaml -i endpoints.yaml',
      },
      {
        purpose: 'Apply the patches to the objects of a cluster, in reverse.',
        command: 'kubectl get endpoints -o yaml | gitplane patches test --reverse -i - -o json',
      },
    ],
  },
  crds: {
    group: 'Manifests',
    summary: 'print the kinds as CustomResourceDefinitions of Kubernetes',
    options: CRDS_OPTIONS,
    examples: [
      {
        purpose: 'Teach the kinds to a cluster that does not run gitplane.',
        command: 'gitplane crds | kubectl apply -f -',
      },
      { purpose: 'Print one List as JSON.', command: 'gitplane crds -o json' },
    ],
  },
  repo: {
    group: 'Manifests',
    summary: 'change the layout of the repository, without changing an object',
    actions: {
      'fan-out': {
        summary: 'spread the manifests of folders with 256 entries over subfolders, in one commit',
        operands: '[DIR]',
      },
    },
    options: REPO_OPTIONS,
    examples: [
      {
        purpose: 'Show the moves for the folders of the checkout.',
        command: 'gitplane repo fan-out --dry-run',
      },
      { purpose: 'Spread one folder, and commit.', command: 'gitplane repo fan-out teams' },
    ],
  },
  seal: {
    group: 'Secrets in git',
    summary: 'encrypt the secrets of manifests for the recipients in .sops.yaml',
    operands: '[PATH…]',
    options: SEAL_OPTIONS,
    examples: [
      {
        purpose: 'Create .sops.yaml, and encrypt every secret.',
        command:
          'gitplane seal --init --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p',
      },
      { purpose: 'Fail in CI when a secret is plaintext.', command: 'gitplane seal --check' },
    ],
  },
  unseal: {
    group: 'Secrets in git',
    summary: 'print a manifest with its secrets decrypted',
    operands: 'PATH…',
    options: UNSEAL_OPTIONS,
    examples: [
      { purpose: 'Print one manifest.', command: 'gitplane unseal sharedsecrets/db.yaml' },
      {
        purpose: 'Use an identity that is not in data/age.key.',
        command: 'gitplane unseal --age-key-file old.key sharedsecrets/db.yaml',
      },
    ],
  },
  edit: {
    group: 'Secrets in git',
    summary: 'edit an encrypted manifest in $EDITOR and encrypt the result',
    operands: 'PATH',
    options: EDIT_OPTIONS,
    examples: [
      { purpose: 'Edit in $EDITOR.', command: 'gitplane edit sharedsecrets/db.yaml' },
      {
        purpose: 'Use another editor.',
        command: "gitplane edit --editor 'code --wait' sharedsecrets/db.yaml",
      },
    ],
  },
  rotate: {
    group: 'Secrets in git',
    summary: 'encrypt manifests with new data keys, for the recipients in .sops.yaml',
    operands: '[PATH…]',
    options: REKEY_OPTIONS,
    examples: [
      { purpose: 'Re-encrypt every manifest, and commit.', command: 'gitplane rotate --commit' },
      { purpose: 'Re-encrypt one folder.', command: 'gitplane rotate sharedsecrets' },
    ],
  },
  recipients: {
    group: 'Secrets in git',
    summary: 'list, add or remove recipients of encrypted manifests',
    actions: {
      list: { summary: 'list the recipients in .sops.yaml' },
      add: { summary: 'encrypt the manifests for one more recipient', operands: 'RECIPIENT' },
      remove: { summary: 're-encrypt the manifests without a recipient', operands: 'RECIPIENT' },
    },
    defaultAction: 'list',
    options: REKEY_OPTIONS,
    examples: [
      { purpose: 'List the recipients.', command: 'gitplane recipients list' },
      {
        purpose: 'Add a recipient, and commit.',
        command:
          'gitplane recipients add --commit age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p',
      },
    ],
  },
} satisfies Readonly<Record<string, CommandSpec>>;
