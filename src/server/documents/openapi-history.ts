/** Schemas of the subresources `history` and `rollback`. */
import type { JsonObject } from '../../apimachinery/index.ts';

export interface Subresource {
  readonly name: string;
  /** Kind of the request body, or of the answer if there is no body. */
  readonly kind: string;
  readonly verb: 'get' | 'create' | 'update';
  /** Kind of the answer to a body; absent: the object itself. */
  readonly answer?: string;
  /** True if the answer has pages. */
  readonly paged?: true;
  /** True if it makes a commit. */
  readonly writes?: true;
  readonly words: (kind: string) => string;
  /** By kind. `meta`: a reference to ListMeta. */
  schemas(meta: JsonObject): Readonly<Record<string, JsonObject>>;
}

const text = (description: string): JsonObject => ({ type: 'string', description });
const HEAD: JsonObject = {
  apiVersion: text('Group and version, as in management.gitplane.dev/v1.'),
  kind: text('What this object represents.'),
};

const AUTHOR: JsonObject = {
  type: 'object',
  description: 'Who made the change.',
  properties: { name: text('Name.'), email: text('Address.') },
};

const ENTRY: JsonObject = {
  type: 'object',
  description: 'A commit that changed the object.',
  required: [
    'revision',
    'time',
    'author',
    'message',
    'verb',
    'uid',
    'generation',
    'path',
    'fields',
  ],
  properties: {
    revision: text('The commit: for atRevision and for a rollback.'),
    time: { ...text('When it was committed (RFC 3339).'), format: 'date-time' },
    author: AUTHOR,
    message: text('The first line of its message.'),
    verb: { ...text('What it did.'), enum: ['created', 'updated', 'deleted', 'moved'] },
    uid: text('The life that the change belongs to: an object made anew has another one.'),
    generation: { type: 'integer', format: 'int64', description: 'metadata.generation after it.' },
    path: text('The file that holds it, or held it.'),
    previousPath: text('Where it came from, when it moved.'),
    fields: {
      type: 'array',
      description: 'Paths of the fields that changed; values are never part of a history.',
      items: { type: 'string' },
    },
    degraded: {
      type: 'boolean',
      description: 'The manifest of this commit is not valid: the last good one stayed in force.',
    },
  },
};

/** Of every kind with a file in git. */
export const SOURCE: Subresource = {
  name: 'source',
  kind: 'ObjectSource',
  verb: 'get',
  words: (kind) => `read the manifest of the specified ${kind} as it stands in git`,
  schemas: (meta) => ({ ObjectSource: sourceSchema(meta) }),
};
export const SOURCE_WRITE: Subresource = {
  ...SOURCE,
  verb: 'update',
  writes: true,
  words: (kind) => `write the text of the manifest of the specified ${kind}, comments included`,
};

/** Subresources of every kind that is stored in git. */
export const SUBRESOURCES: readonly Subresource[] = [
  {
    name: 'history',
    kind: 'ObjectHistory',
    verb: 'get',
    paged: true,
    words: (kind) => `read the commits that changed the specified ${kind}`,
    schemas: (meta) => ({ ObjectHistory: historySchema(meta) }),
  },
  {
    name: 'blame',
    kind: 'ObjectBlame',
    verb: 'get',
    words: (kind) => `read the commit that set each field of the specified ${kind}`,
    schemas: (meta) => ({ ObjectBlame: blameSchema(meta) }),
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

function historySchema(meta: JsonObject): JsonObject {
  return {
    type: 'object',
    description: 'What commits did to an object, newest first.',
    required: ['items'],
    properties: {
      ...HEAD,
      metadata: meta,
      items: { type: 'array', description: 'Newest first.', items: ENTRY },
    },
  };
}

function blameSchema(meta: JsonObject): JsonObject {
  return {
    type: 'object',
    description: 'The commit that set each field of an object.',
    required: ['commits', 'fields'],
    properties: {
      ...HEAD,
      metadata: meta,
      commits: {
        type: 'object',
        description: 'Time, author and first line of the message of each commit, by its id.',
        additionalProperties: {
          type: 'object',
          properties: {
            time: { ...text('When it was committed (RFC 3339).'), format: 'date-time' },
            author: AUTHOR,
            message: text('The first line of its message.'),
          },
        },
      },
      fields: {
        type: 'array',
        description: 'Fields of the manifest; values are never part of a blame.',
        items: {
          type: 'object',
          required: ['path'],
          properties: {
            path: text('The field. An item of a list is one field.'),
            revision: text('The commit that set it. Absent: older than the examined commits.'),
          },
        },
      },
      truncated: { type: 'boolean', description: 'The object has more fields.' },
    },
  };
}

const ROLLBACK: JsonObject = {
  type: 'object',
  description: 'Makes an object what it was at a commit.',
  required: ['revision'],
  properties: {
    ...HEAD,
    revision: text('The commit, by its id, whole or shortened.'),
    reason: text('Why: becomes the body of the commit message.'),
    resourceVersion: text('The version that is to be replaced; any when absent.'),
  },
};

function sourceSchema(meta: JsonObject): JsonObject {
  return {
    type: 'object',
    description: 'The manifest of an object in git, and its place.',
    required: ['revision'],
    properties: {
      ...HEAD,
      metadata: meta,
      revision: {
        type: 'string',
        description:
          'Commit that the manifest is read from. A write is refused if the document changed since.',
      },
      path: { type: 'string', description: 'Path of the file.' },
      line: { type: 'integer', description: 'First line of the document in its file.' },
      text: {
        type: 'string',
        description:
          'The document with its comments. Absent without the right to clone. A write takes the text that is to stand in its place.',
      },
      reason: {
        type: 'string',
        description: 'Of a write: becomes the body of the commit message.',
      },
      withheld: {
        type: 'object',
        description: 'The right that shows the text, where it is absent.',
        additionalProperties: { type: 'string' },
      },
    },
  };
}
