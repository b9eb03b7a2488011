/**
 * Operations of a kind: method, path, parameters and schemas. The OpenAPI documents of both versions
 * and the routes of the server are made from them.
 */
import type { JsonObject, Verb } from '../../apimachinery/index.ts';
import type { Kind } from '../../kinds/index.ts';
import type { Subresource } from './openapi-history.ts';
import {
  type GroupVersionKind,
  listOf,
  META,
  modelName,
  subresourceKind,
} from './openapi-names.ts';
import { subresourcesOf } from './openapi-tenants.ts';

export type HttpMethod = 'get' | 'put' | 'post' | 'delete' | 'patch';

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
  /** Limits of the value, as in JSON Schema. */
  readonly limits?: JsonObject;
}

export interface Operation {
  readonly path: string;
  readonly method: HttpMethod;
  readonly verb: Verb;
  /** Empty for the kind itself. */
  readonly subresource: string;
  readonly id: string;
  /** `x-kubernetes-action`. */
  readonly action: string;
  readonly description: string;
  readonly kind: Kind;
  /** Of the kind, or of its subresource. */
  readonly gvk: GroupVersionKind;
  readonly parameters: readonly Parameter[];
  /** Name of the schema of the body. */
  readonly body: { readonly schema: string; readonly required: boolean } | undefined;
  /** Names of schemas by status code. */
  readonly responses: Readonly<Record<string, string>>;
}

/** In order of path and method. */
export function operationsOf(kind: Kind): Operation[] {
  const own = TEMPLATES.filter(({ verb }) => kind.verbs.includes(verb));
  const below = subresourcesOf(kind).map(templateOf);
  return [...own, ...below].flatMap((template) =>
    pathsFor(kind, template).map((path) => operation(kind, template, path)),
  );
}

interface Template {
  readonly verb: Verb;
  readonly method: HttpMethod;
  readonly action: string;
  /** True if the path names one object. */
  readonly one: boolean;
  readonly subresource?: Subresource;
  readonly words: (kind: string) => string;
  readonly parameters: readonly Parameter[];
}

function query(
  name: string,
  type: Parameter['type'],
  description: string,
  limits: JsonObject = {},
): Parameter {
  return { name, in: 'query', type, description, limits };
}

const PRETTY = query('pretty', 'string', 'true: the answer is indented.');
const DRY_RUN = query('dryRun', 'string', 'All: nothing is stored, the answer is the same.');
const SHOW = query(
  'show',
  'string',
  'Of a dry run: file (the file that the write would leave), effect (the objects that it would change), or file,effect.',
);
const FIELD_MANAGER = query(
  'fieldManager',
  'string',
  'Name of the person or program that makes the change: printable, at most 128 characters.',
);
const FIELD_VALIDATION = query(
  'fieldValidation',
  'string',
  'What to do about unknown and duplicate fields: Ignore, Warn or Strict.',
);
const FORCE = query(
  'force',
  'boolean',
  'Take over fields that others own (server-side apply). Go on from the last good version of an object whose manifest in git is not valid; the commit message names what was dropped.',
);
const RESOURCE_VERSION = query('resourceVersion', 'string', 'Which version may be answered.');
const SELECTION: readonly Parameter[] = [
  query('labelSelector', 'string', 'Only objects whose labels match.'),
  query('fieldSelector', 'string', 'Only objects whose fields match.'),
];
const LIMIT = query('limit', 'integer', 'At most this many objects; continue leads to the rest.');
const CONTINUE = query('continue', 'string', 'Where the last page ended.');
const PAST: readonly Parameter[] = [
  query('atRevision', 'string', 'As it was at a commit of the branch: its id, or how that begins.'),
  query('atTime', 'string', 'As it was at a time (RFC 3339).'),
];
const LIST: readonly Parameter[] = [
  PRETTY,
  ...SELECTION,
  LIMIT,
  CONTINUE,
  RESOURCE_VERSION,
  query('resourceVersionMatch', 'string', 'How to read resourceVersion: Exact or NotOlderThan.'),
  query('timeoutSeconds', 'integer', 'How long a watch goes on.'),
  query('watch', 'boolean', 'Stream the changes instead of listing.'),
  query('allowWatchBookmarks', 'boolean', 'A watch may send bookmarks.'),
  query('sendInitialEvents', 'boolean', 'A watch begins with the objects that exist.'),
];
const WRITE: readonly Parameter[] = [PRETTY, DRY_RUN, SHOW, FIELD_MANAGER, FIELD_VALIDATION];
const DELETE: readonly Parameter[] = [
  PRETTY,
  DRY_RUN,
  SHOW,
  query('gracePeriodSeconds', 'integer', 'Seconds until the object is removed.'),
  query('orphanDependents', 'boolean', 'Deprecated: use propagationPolicy.'),
  query('propagationPolicy', 'string', 'Orphan, Background or Foreground.'),
];

const TEMPLATES: readonly Template[] = [
  {
    verb: 'list',
    method: 'get',
    action: 'list',
    one: false,
    words: (kind) => `list objects of kind ${kind}`,
    parameters: [...LIST, ...PAST],
  },
  {
    verb: 'create',
    method: 'post',
    action: 'post',
    one: false,
    words: (kind) => `create an object of kind ${kind}`,
    parameters: WRITE,
  },
  {
    verb: 'deletecollection',
    method: 'delete',
    action: 'deletecollection',
    one: false,
    words: (kind) => `delete a collection of ${kind}`,
    parameters: [...new Set([...LIST, ...DELETE])],
  },
  {
    verb: 'get',
    method: 'get',
    action: 'get',
    one: true,
    words: (kind) => `read the specified ${kind}`,
    parameters: [PRETTY, RESOURCE_VERSION, ...PAST],
  },
  {
    verb: 'update',
    method: 'put',
    action: 'put',
    one: true,
    words: (kind) => `replace the specified ${kind}`,
    parameters: [...WRITE, FORCE],
  },
  {
    verb: 'delete',
    method: 'delete',
    action: 'delete',
    one: true,
    words: (kind) => `delete the specified ${kind}`,
    parameters: DELETE,
  },
  {
    verb: 'patch',
    method: 'patch',
    action: 'patch',
    one: true,
    words: (kind) => `partially update the specified ${kind}`,
    parameters: [...WRITE, FORCE],
  },
];

const METHODS_OF_SUBRESOURCES = { get: 'get', create: 'post', update: 'put' } as const;

function templateOf(subresource: Subresource): Template {
  const { verb, words, paged, past, limited, writes } = subresource;
  const method = METHODS_OF_SUBRESOURCES[verb];
  const parameters = [
    PRETTY,
    ...(limited === undefined ? [] : [limitOf(limited)]),
    ...(paged === true ? [CONTINUE] : []),
    ...(past === true ? PAST : []),
    ...(writes === true ? [DRY_RUN, SHOW, FIELD_MANAGER, FORCE] : []),
  ];
  return { verb, method, action: method, one: true, subresource, words, parameters };
}

function limitOf({ description, ...limits }: NonNullable<Subresource['limited']>): Parameter {
  return query('limit', 'integer', description, { minimum: 0, ...limits });
}

const NAMESPACE = '/namespaces/{namespace}';

/** Path of a group version. */
function basePath({ group, version }: Kind): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

function pathsFor(kind: Kind, { verb, one, subresource }: Template): string[] {
  const base = basePath(kind);
  const behind = subresource === undefined ? '' : `/${subresource.name}`;
  const name = one ? `/{name}${behind}` : '';
  if (kind.scope === 'Cluster') return [`${base}/${kind.plural}${name}`];
  const inNamespace = `${base}${NAMESPACE}/${kind.plural}${name}`;
  return verb === 'list' ? [`${base}/${kind.plural}`, inNamespace] : [inNamespace];
}

function operation(kind: Kind, template: Template, path: string): Operation {
  return {
    path,
    method: template.method,
    verb: template.verb,
    subresource: template.subresource?.name ?? '',
    id: operationId(kind, template, path),
    action: template.action,
    description: template.words(kind.kind),
    kind,
    gvk:
      template.subresource === undefined ? kind : subresourceKind(kind, template.subresource.kind),
    parameters: [...template.parameters, ...pathParameters(kind, path)],
    body: bodyOf(kind, template),
    responses: responsesOf(kind, template),
  };
}

const ID_WORDS: Readonly<Record<string, string>> = {
  post: 'create',
  get: 'read',
  put: 'replace',
  deletecollection: 'deleteCollection',
};

/** `listManagementGitplaneDevV1NamespacedSharedSecret`; unique within all documents. */
function operationId(kind: Kind, { action, verb, subresource }: Template, path: string): string {
  const words = [...kind.group.split('.'), kind.version];
  const group = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  const inNamespace = path.includes(NAMESPACE);
  const everywhere = kind.scope === 'Namespaced' && verb === 'list' && !inNamespace;
  const scope = inNamespace ? 'Namespaced' : '';
  const { name = '' } = subresource ?? {};
  const below = name
    .split(':')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
  const suffix = everywhere ? 'ForAllNamespaces' : below;
  return `${ID_WORDS[action] ?? action}${group}${scope}${kind.kind}${suffix}`;
}

function pathParameters(kind: Kind, path: string): Parameter[] {
  const found = (name: string, description: string): Parameter[] =>
    path.includes(`{${name}}`) ? [{ name, in: 'path', type: 'string', description }] : [];
  return [
    ...found('name', `Name of the ${kind.kind}.`),
    ...found('namespace', 'Namespace of the object.'),
  ];
}

function bodyOf(kind: Kind, { method, action, subresource }: Template): Operation['body'] {
  if (subresource !== undefined) {
    const schema = modelName(subresourceKind(kind, subresource.body ?? subresource.kind));
    return method === 'get' ? undefined : { schema, required: true };
  }
  switch (method) {
    case 'post':
    case 'put':
      return { schema: modelName(kind), required: true };
    case 'patch':
      return { schema: `${META}.Patch`, required: true };
    case 'delete':
      return action === 'delete' ? { schema: `${META}.DeleteOptions`, required: false } : undefined;
    default:
      return undefined;
  }
}

function responsesOf(kind: Kind, { action, subresource }: Template): Operation['responses'] {
  const own = modelName(kind);
  if (subresource?.writes === true) return { 200: own, 201: own };
  if (subresource !== undefined) {
    const { answer, kind: sent } = subresource;
    return { 200: modelName(subresourceKind(kind, answer ?? sent)) };
  }
  switch (action) {
    case 'list':
    case 'deletecollection':
      return { 200: modelName(listOf(kind)) };
    case 'post':
      return { 201: own };
    case 'delete':
      return { 200: `${META}.Status`, 202: `${META}.Status` };
    default:
      return { 200: own };
  }
}
