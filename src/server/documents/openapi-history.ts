/** Schemas of the subresources `history`, `blame`, `source` and `rollback`. */
import type { JsonObject } from '../../apimachinery/index.ts';
import { SIGNATURE } from './http-api/history-schemas.ts';
import {
  AUTHOR,
  count,
  flag,
  listOf,
  mapOf,
  oneOf,
  shape,
  text,
  time,
} from './http-api/schema-parts.ts';

export interface Subresource {
  readonly name: string;
  /** Kind of the request body, or of the answer if there is no body. */
  readonly kind: string;
  readonly verb: 'get' | 'create' | 'update';
  /** Kind of the body, where it is another one. */
  readonly body?: string;
  /** Kind of the answer to a body; absent: the object itself. */
  readonly answer?: string;
  /** Description of the parameter `limit`, and its largest value. */
  readonly limited?: { readonly description: string; readonly maximum?: number };
  /** True if the answer has pages. */
  readonly paged?: true;
  /** True if it is read at any moment of the past. */
  readonly past?: true;
  /** True if it makes a commit. */
  readonly writes?: true;
  readonly words: (kind: string) => string;
  /** By kind. `meta`: a reference to ListMeta. */
  schemas(meta: JsonObject): Readonly<Record<string, JsonObject>>;
}

const HEAD = {
  'apiVersion?': text('Group and version, as in management.gitplane.dev/v1.'),
  'kind?': text('Kind of this document.'),
};
const LIFE = {
  name: text('Name of the object.'),
  'uid?': text('Life of the object: a recreated object has another one.'),
};

const ENTRY = shape('A commit that changed the object.', {
  revision: text('The commit: for atRevision and for a rollback.'),
  time: time('Committer time.'),
  author: AUTHOR,
  message: text('First line of the message.'),
  verb: oneOf(['created', 'updated', 'deleted', 'moved'], 'Change of the object.'),
  uid: text('Life of the object that changed: a recreated object has another one.'),
  generation: count('metadata.generation after the change.', { format: 'int64' }),
  path: text('Present or last file of the object.'),
  'previousPath?': text('Former file of a moved object.'),
  fields: listOf(text('Path.'), 'Paths of the changed fields; a history has no values.'),
  'degraded?': flag('The manifest of this commit is not valid: the last good one stayed in force.'),
  'signature?': SIGNATURE,
});

const BLAME = shape('The commit that set each field of an object.', {
  ...HEAD,
  metadata: shape('The object.', {
    ...LIFE,
    'remainingItemCount?': count('Number of commits that were not examined.'),
  }),
  commits: mapOf(
    shape('A commit.', {
      time: time('Committer time.'),
      author: AUTHOR,
      message: text('First line of the message.'),
    }),
    'Commits by their id.',
  ),
  fields: listOf(
    shape('A field of the manifest.', {
      path: text('Path of the field. An item of a list is one field.'),
      'revision?': text('Commit that set it. Absent: older than the examined commits.'),
    }),
    'Fields of the manifest; a blame has no values.',
  ),
  'truncated?': flag('The object has more fields.'),
});

const ROLLBACK = shape('Commit that an object returns to.', {
  ...HEAD,
  revision: text('The commit, by its id, whole or shortened.'),
  'reason?': text('Reason for the body of the commit message.'),
  'resourceVersion?': text('Version that is replaced. Absent: any.'),
});

const OBJECT_SOURCE = shape('The manifest of an object in git, and its place.', {
  ...HEAD,
  metadata: shape('The object.', LIFE),
  revision: text('Commit that the manifest is read from.'),
  path: text('Path of the file.'),
  line: count('First line of the document in its file.'),
  'text?': text('The document with its comments. Absent without the right to clone.'),
  'withheld?': shape('The right that shows the text, where it is absent.', {
    verb: text('Verb.'),
    path: text('Path.'),
  }),
});

/** A client may send the other fields of ObjectSource back. */
const SOURCE_TEXT: JsonObject = {
  ...shape('Text of a manifest to write.', {
    ...HEAD,
    revision: text('Commit that the text was read from. Refused if the document changed since.'),
    text: text('The document with its comments.'),
    'reason?': text('Reason for the body of the commit message.'),
  }),
  'x-kubernetes-preserve-unknown-fields': true,
};

/** Of every kind with a file in git. */
export const SOURCE: Subresource = {
  name: 'source',
  kind: 'ObjectSource',
  verb: 'get',
  past: true,
  words: (kind) => `read the manifest of the specified ${kind} as it stands in git`,
  schemas: () => ({ ObjectSource: OBJECT_SOURCE }),
};
export const SOURCE_WRITE: Subresource = {
  name: 'source',
  kind: 'ObjectSource',
  body: 'ObjectSourceText',
  verb: 'update',
  writes: true,
  words: (kind) => `write the text of the manifest of the specified ${kind}, comments included`,
  schemas: () => ({ ObjectSourceText: SOURCE_TEXT }),
};

/** Subresources of every kind that is stored in git. */
export const SUBRESOURCES: readonly Subresource[] = [
  {
    name: 'history',
    kind: 'ObjectHistory',
    verb: 'get',
    limited: { description: 'Number of commits. Larger values are cut to 500.' },
    paged: true,
    words: (kind) => `read the commits that changed the specified ${kind}`,
    schemas: (metadata) => ({
      ObjectHistory: shape('Commits that changed an object, newest first.', {
        ...HEAD,
        metadata,
        items: listOf(ENTRY, 'Newest first.'),
      }),
    }),
  },
  {
    name: 'blame',
    kind: 'ObjectBlame',
    verb: 'get',
    limited: { description: 'Number of examined commits; 500 if absent.', maximum: 10_000 },
    words: (kind) => `read the commit that set each field of the specified ${kind}`,
    schemas: () => ({ ObjectBlame: BLAME }),
  },
  SOURCE,
  SOURCE_WRITE,
  {
    name: 'rollback',
    kind: 'Rollback',
    verb: 'create',
    writes: true,
    words: (kind) => `make the specified ${kind} what it was at a commit`,
    schemas: () => ({ Rollback: ROLLBACK }),
  },
];
