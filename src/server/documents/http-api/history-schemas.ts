/** Schemas of commits, comparisons, plans and previews of writes. */
import type { JsonObject } from '../../../apimachinery/index.ts';
import {
  AUTHOR,
  anything,
  count,
  described,
  flag,
  head,
  LIST_META,
  listOf,
  mapOf,
  NAMES,
  nullable,
  oneOf,
  openObject,
  ref,
  shape,
  text,
  time,
} from './schema-parts.ts';

/** The signature of a commit, for the schemas of histories too. */
export const SIGNATURE = shape('Signature of a commit, judged with the keys of now.', {
  state: oneOf(['unsigned', 'trusted', 'untrusted', 'unchecked'], 'Verdict on the signature.'),
  'signer?': text('Name of the signer.'),
  'message?': text('Reason of the verdict.'),
});

const COMMITS: Readonly<Record<string, JsonObject>> = {
  CommitSignature: SIGNATURE,
  CommitList: shape('Commits of the branch, newest first.', {
    ...head('CommitList'),
    metadata: LIST_META,
    items: listOf(ref('Commit'), 'Commits of the first-parent line.'),
  }),
  Commit: shape('A commit with its changed files.', {
    revision: text('Id of the commit.'),
    parents: listOf(text('Id.'), 'Ids of the parents.'),
    time: time('Committer time.'),
    author: AUTHOR,
    subject: text('First line of the message.'),
    message: text('The message, cut to 4096 characters.'),
    files: listOf(ref('CommitFile'), 'The first 50 changed files, by path.'),
    fileCount: count('Number of all changed files.'),
    'signature?': ref('CommitSignature'),
  }),
  CommitFile: shape('File that a commit changed relative to its first parent.', {
    path: text('Path of the file.'),
    change: oneOf(['added', 'modified', 'removed'], 'Change of the file.'),
    objects: listOf(
      shape('Object that a version of the file named.', {
        group: text('API group.'),
        kind: text('Kind.'),
        'plural?': text('Plural of the kind. Absent: the kind is unknown.'),
        'namespace?': text('Namespace.'),
        name: text('Name.'),
      }),
      'Objects that a version of the file named.',
    ),
  }),
  BranchList: shape('Branches that can be planned, newest first.', {
    ...head('BranchList'),
    metadata: shape('Length of the list.', {
      'hasMore?': flag('The repository has more branches.'),
    }),
    items: listOf(
      shape('A branch.', {
        name: text('Name.'),
        revision: text('Newest commit.'),
        time: time('Committer time.'),
        author: text('Name of the author.'),
        subject: text('First line of the message.'),
      }),
      'Branches.',
    ),
  }),
  ComparedCommit: shape('Commit of a comparison.', {
    revision: text('Id of the commit.'),
    time: time('Committer time.'),
  }),
  Comparison: shape('Objects that differ between two moments.', {
    ...head('Comparison'),
    from: ref('ComparedCommit'),
    to: ref('ComparedCommit'),
    summary: mapOf(count('Number of changes.'), 'Number of changes by verb.'),
    count: count('Number of all changes.'),
    items: listOf(
      { description: 'A change.', allOf: [ref('PlanChange')] },
      'The first 500 changes, at most 4 MiB.',
    ),
  }),
};

const PLANS: Readonly<Record<string, JsonObject>> = {
  PlanProblem: shape('Problem of a manifest, with its place.', {
    path: text('Path of the file.'),
    line: count('Line, from 1.'),
    col: count('Column, from 1.'),
    message: text('The problem.'),
    'inClear?': flag('The file has a plaintext secret.'),
    'unreadable?': flag('The file is encrypted for another key.'),
  }),
  PlanTarget: {
    ...shape('Commit to plan: `revision` or `ref`.', {
      'revision?': text('Commit id.'),
      'ref?': text('Branch or tag of the repository.'),
    }),
    minProperties: 1,
    maxProperties: 1,
  },
  Plan: shape('Changes that a commit would make.', {
    from: nullable(text('Base revision; null: there is none yet.')),
    to: text('Planned commit.'),
    verdict: oneOf(
      ['accepted', 'refused', 'held'],
      'Verdict on a push of the commit by the caller. `held`: its removals need an approval.',
    ),
    summary: mapOf(count('Number of changes.'), 'Number of changes by verb.'),
    changes: listOf(ref('PlanChange'), 'Changes, sorted by kind and name.'),
    problems: listOf(ref('PlanProblem'), 'Problems of manifests.'),
    warnings: listOf(ref('PlanProblem'), 'Warnings about manifests.'),
    objections: listOf(text('Reason.'), 'Reasons for a refusal, and the required approval.'),
  }),
  PlanChange: shape('Change of an object.', {
    verb: oneOf(['create', 'update', 'delete', 'recreate', 'move'], 'Change of the object.'),
    ...NAMES,
    'plural?': text('Plural of the kind, as in URLs.'),
    path: text('Present or last file of the object.'),
    'previousPath?': text('Former path of a moved object.'),
    fields: listOf(ref('FieldChange'), 'Changed fields. Values of secret fields are masked.'),
    'patch?': listOf(
      shape('Step of a JSON Patch.', {
        op: oneOf(['add', 'replace', 'remove'], 'Operation.'),
        path: text('JSON pointer.'),
        'value?': anything('New value.'),
      }),
      'Of an update: the change as a JSON Patch (RFC 6902). Absent: it is too large.',
    ),
    'degraded?': flag('The newest manifest is not valid: the last good one stays in effect.'),
    'access?': listOf(ref('AccessChange'), 'Access that the change opens and closes.'),
    'derived?': described('DerivedChanges', 'Derived objects that follow.'),
    'effects?': described('PlanEffects', 'Effects on objects outside the repository.'),
  }),
  FieldChange: shape('Change of a field.', {
    path: text('Path of the field, such as `spec.users[1]`.'),
    'before?': anything('Former value. Absent: the field did not exist.'),
    'after?': anything('New value. Absent: the field is removed.'),
    'masked?': flag('The values are secret and omitted.'),
  }),
  AccessChange: shape('Access that a change opens or closes.', {
    effect: oneOf(['opens', 'closes'], 'Direction.'),
    'subject?': described('AccessSubject', 'User or group. Absent: everyone with the role.'),
    'rule?': described('AccessRule', 'Verbs on the object, or a rule of a role.'),
    'role?': text('Role that a binding gives: `ClusterRole/admin`.'),
    'rightsOf?': text('User or group whose rights a member gets.'),
  }),
  DerivedChanges: shape('Roles, bindings and copies of secrets that follow.', {
    count: count('Number of changed objects.'),
    items: listOf(
      shape('A derived object.', {
        verb: oneOf(['create', 'update', 'delete'], 'Change of the object.'),
        ...NAMES,
        'message?': text('Condition of a copied secret after the change.'),
      }),
      'The first 200 objects.',
    ),
  }),
  PlanEffects: shape('Effects of the patches of a tenant.', {
    objects: count('Number of examined objects.'),
    changed: count('Number of changed objects.'),
    items: listOf(
      shape('A changed object on the control-plane cluster.', {
        verb: oneOf(['create', 'update', 'delete', 'fail'], 'Change of the object.'),
        kind: oneOf(['Endpoints', 'Service'], 'Kind of the object.'),
        source: shape('Place in the tenant cluster.', {
          namespace: text('Namespace.'),
          name: text('Name.'),
        }),
        'before?': openObject('The object before. Secret values are masked.'),
        'after?': openObject('The object after the change.'),
        'message?': text('Reason why it fails and stays unchanged.'),
      }),
      'The first changed objects.',
    ),
    unseen: count('Number of objects that were not examined, to limit the time.'),
    warnings: listOf(text('Warning.'), 'Warnings.'),
    'unknown?': text('Reason why the effects are unknown.'),
  }),
  WriteEffect: shape('Changes that a write would make.', {
    changes: listOf(ref('PlanChange'), 'Changes that the caller may see.'),
    hidden: count('Number of changes that the caller may not see.'),
  }),
  WritePreview: shape('Answer to a dry run with `show`.', {
    ...head('WritePreview'),
    'path?': nullable(text('Path of the file; null: no file.')),
    'before?': nullable(text('Text of the file; null: there is none.')),
    'after?': nullable(text('Text of the file after the write.')),
    'effect?': ref('WriteEffect'),
    object: openObject('The object after the write.'),
  }),
};

export const HISTORY_SCHEMAS: Readonly<Record<string, JsonObject>> = { ...COMMITS, ...PLANS };
