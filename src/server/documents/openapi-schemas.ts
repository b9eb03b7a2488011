/**
 * `components.schemas`: the kinds, their lists, and the types of apimachinery that they refer to,
 * under the names that Kubernetes gives them. Written as OpenAPI v3; version 2 is made from it.
 */
import { isRecord, type JsonObject, type JsonValue } from '../../apimachinery/index.ts';
import { type Kind, openApiSchema } from '../../kinds/index.ts';
import { gvkOf, listOf, META, modelName, refTo, subresourceKind } from './openapi-names.ts';
import { subresourcesOf } from './openapi-tenants.ts';

/** A reference with a description of its own: beside `$ref` nothing else counts. */
function describedRef(name: string, description: string): JsonObject {
  return { description, allOf: [refTo(name)] };
}

export function schemasOf(kinds: readonly Kind[]): JsonObject {
  const schemas: JsonObject = {};
  for (const kind of kinds) {
    schemas[modelName(kind)] = kindSchema(kind);
    schemas[modelName(listOf(kind))] = listSchema(kind);
    Object.assign(schemas, subresourceSchemas(kind));
  }
  return sorted({ ...schemas, ...metaSchemas(kinds) });
}

function kindSchema(kind: Kind): JsonObject {
  const schema = openApiSchema(kind.schema);
  const properties = mapIn(schema, 'properties');
  const metadata = mapIn(properties, 'metadata');
  // Clients may leave kind and apiVersion to the server, and name everything by generateName.
  const { required: _required, ...rest } = schema;
  return {
    ...rest,
    properties: {
      ...properties,
      metadata: describedRef(`${META}.ObjectMeta`, String(metadata['description'] ?? '')),
    },
    ...requiredFields(schema),
    'x-kubernetes-group-version-kind': [gvkOf(kind)],
  };
}

/** A schema within a schema. The files of the schemas have it. */
function mapIn(schema: JsonObject, name: string): JsonObject {
  const value = schema[name];
  if (isRecord(value)) return value;
  throw new TypeError(`the schema has no ${name}`);
}

/** Shared by the kinds of a group. */
function subresourceSchemas(kind: Kind): JsonObject {
  const meta = describedRef(`${META}.ListMeta`, 'Continuation of the list.');
  const all = subresourcesOf(kind).flatMap((one) => Object.entries(one.schemas(meta)));
  const entries = all.map(([name, schema]) => {
    const gvk = subresourceKind(kind, name);
    return [modelName(gvk), { ...schema, 'x-kubernetes-group-version-kind': [gvkOf(gvk)] }];
  });
  return Object.fromEntries(entries);
}

const INFERRED = ['apiVersion', 'kind', 'metadata'];

function requiredFields({ required }: JsonObject): JsonObject {
  const fields = (Array.isArray(required) ? required : []).filter(
    (field) => !INFERRED.includes(String(field)),
  );
  return fields.length > 0 ? { required: fields } : {};
}

const API_VERSION: JsonObject = {
  type: 'string',
  description: 'Versioned schema of this representation of an object.',
};
const KIND: JsonObject = {
  type: 'string',
  description: 'Kind of the object. In CamelCase; cannot be changed.',
};

function listSchema(kind: Kind): JsonObject {
  return {
    type: 'object',
    description: `A list of ${kind.kind} objects.`,
    required: ['items'],
    properties: {
      apiVersion: API_VERSION,
      items: { type: 'array', description: 'The objects.', items: refTo(modelName(kind)) },
      kind: KIND,
      metadata: describedRef(`${META}.ListMeta`, 'Version of the list, and how to get the rest.'),
    },
    'x-kubernetes-group-version-kind': [gvkOf(listOf(kind))],
  };
}

/** Parts of ObjectMeta that have a name of their own in Kubernetes. */
const NAMED_ITEMS: Readonly<Record<string, string>> = {
  ownerReferences: 'OwnerReference',
  managedFields: 'ManagedFieldsEntry',
};
const TIMES = ['creationTimestamp', 'deletionTimestamp'];

function metaSchemas(kinds: readonly Kind[]): JsonObject {
  const objectMeta = openApiSchema('object-meta');
  const properties = { ...mapIn(objectMeta, 'properties') };
  const named: JsonObject = {};
  for (const [field, name] of Object.entries(NAMED_ITEMS)) {
    const list = mapIn(properties, field);
    named[`${META}.${name}`] = mapIn(list, 'items');
    properties[field] = { ...list, items: refTo(`${META}.${name}`) };
  }
  for (const field of TIMES) {
    const description = String(mapIn(properties, field)['description'] ?? '');
    properties[field] = describedRef(`${META}.Time`, description);
  }
  const versions = [...new Map(kinds.map((kind) => [kind.group, kind.version]))];
  // Each once: parsers of schemas refuse a second one, even in the same list.
  const deleteOptions = [...new Map([['', 'v1'], ...versions])].map(([group, version]) =>
    gvkOf({ group, version, kind: 'DeleteOptions' }),
  );
  return {
    ...named,
    [`${META}.ObjectMeta`]: { ...objectMeta, properties },
    [`${META}.Time`]: {
      type: 'string',
      format: 'date-time',
      description: 'A time (RFC 3339).',
    },
    [`${META}.ListMeta`]: LIST_META,
    [`${META}.Patch`]: {
      type: 'object',
      description: 'A patch; its Content-Type says of which form.',
    },
    [`${META}.Preconditions`]: PRECONDITIONS,
    [`${META}.DeleteOptions`]: {
      ...DELETE_OPTIONS,
      'x-kubernetes-group-version-kind': deleteOptions,
    },
    [`${META}.StatusCause`]: STATUS_CAUSE,
    [`${META}.StatusDetails`]: STATUS_DETAILS,
    [`${META}.Status`]: STATUS,
  };
}

function text(description: string): JsonObject {
  return { type: 'string', description };
}

function int64(description: string): JsonObject {
  return { type: 'integer', format: 'int64', description };
}

function object(description: string, properties: JsonObject): JsonObject {
  return { type: 'object', description, properties };
}

const LIST_META = object('Metadata of a list.', {
  continue: text('Where the next page begins. Empty on the last page; opaque.'),
  remainingItemCount: int64('How many objects follow this page, where that is known.'),
  resourceVersion: text('Version of the list: where a watch goes on from. Opaque.'),
  selfLink: text('No longer filled in.'),
});

const PRECONDITIONS = object('What must be true of an object that is to be deleted.', {
  resourceVersion: text('The resourceVersion it must have.'),
  uid: text('The uid it must have.'),
});

const DELETE_OPTIONS = object('How an object is to be deleted.', {
  apiVersion: API_VERSION,
  dryRun: {
    type: 'array',
    description: 'All: nothing is deleted, the answer is the same.',
    items: { type: 'string' },
    'x-kubernetes-list-type': 'atomic',
  },
  gracePeriodSeconds: int64('Seconds until the object is removed. 0: at once.'),
  kind: KIND,
  orphanDependents: {
    type: 'boolean',
    description: 'Deprecated: use propagationPolicy. Whether dependents stay.',
  },
  preconditions: describedRef(`${META}.Preconditions`, 'What must be true of the object.'),
  propagationPolicy: text('What becomes of dependents: Orphan, Background or Foreground.'),
});

const STATUS_CAUSE = object('One reason for a failure.', {
  field: text('The field that caused it, as in spec.users[0].'),
  message: text('For people.'),
  reason: text('For programs.'),
});

const STATUS_DETAILS = object('What a Status is about.', {
  causes: {
    type: 'array',
    description: 'Every reason for the failure.',
    items: refTo(`${META}.StatusCause`),
    'x-kubernetes-list-type': 'atomic',
  },
  group: text('Group of the resource.'),
  kind: text('Plural name of the resource; its kind where the object was invalid.'),
  name: text('Name of the resource.'),
  retryAfterSeconds: { type: 'integer', format: 'int32', description: 'When to try again.' },
  uid: text('uid of the resource.'),
});

const STATUS: JsonObject = {
  ...object('The answer to a request that does not answer with an object.', {
    apiVersion: API_VERSION,
    code: { type: 'integer', format: 'int32', description: 'HTTP status code.' },
    details: describedRef(`${META}.StatusDetails`, 'What the Status is about.'),
    kind: KIND,
    message: text('For people.'),
    metadata: describedRef(`${META}.ListMeta`, 'Always empty.'),
    reason: text('For programs.'),
    status: text('Success or Failure.'),
  }),
  'x-kubernetes-group-version-kind': [gvkOf({ group: '', version: 'v1', kind: 'Status' })],
};

function sorted(schemas: JsonObject): JsonObject {
  const entries: [string, JsonValue][] = Object.entries(schemas);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
