/**
 * OpenAPI v3: an index, and one document a group version (reference: Kubernetes API, section 1.2).
 * kubectl reads from it how to explain a kind, whether the server validates fields, and which types
 * of patch it takes.
 */
import type { JsonObject, JsonValue } from '../../apimachinery/index.ts';
import type { Kind, KindTable } from '../../kinds/index.ts';
import { acceptedPatchTypes, type PatchSupport } from '../input/patch.ts';
import { JSON_TYPE, YAML_TYPE } from '../output/negotiation.ts';
import { gvkOf, refTo } from './openapi-names.ts';
import { type Operation, operationsOf, type Parameter } from './openapi-operations.ts';
import { schemasOf } from './openapi-schemas.ts';
import { hashOf, memoized, type ReadyDocument, readyDocument } from './ready-document.ts';

export interface OpenApiOptions extends PatchSupport {
  /** Path of the Kubernetes API: `/kubernetes/management`. */
  readonly root: string;
  /** Of gitplane. */
  readonly version: string;
}

export interface OpenApiV3 {
  /** `/openapi/v3`. */
  index(): ReadyDocument;
  /** `/openapi/v3/<path>`, such as `apis/management.gitplane.dev/v1`; undefined for no such. */
  document(path: string): HashedDocument | undefined;
}

export interface HashedDocument extends ReadyDocument {
  /** Hash in the index, for `?hash=`. A request with another hash is outdated. */
  readonly hash: string;
  /** URL in the index, with the hash; cacheable for ever. */
  readonly url: string;
}

/** Builds each document at its first request. */
export function buildOpenApi(table: KindTable, options: OpenApiOptions): OpenApiV3 {
  const paths = new Map<string, readonly Kind[]>(
    table.groups.map((group) => [
      group === '' ? 'api/v1' : `apis/${group}/v1`,
      table.kinds.filter((kind) => kind.group === group),
    ]),
  );
  const document = memoized((path: string) => {
    const kinds = paths.get(path);
    return kinds === undefined ? undefined : encode(path, kinds, options);
  });
  const index = memoized(() => {
    const entries = [...paths.keys()].map(
      (path) => [path, { serverRelativeURL: document(path)?.url ?? '' }] as const,
    );
    const text = JSON.stringify({ paths: Object.fromEntries(entries) });
    return readyDocument(JSON_TYPE, Buffer.from(text));
  });
  return {
    index: () => index(undefined),
    document: (path) => (paths.has(path) ? document(path) : undefined),
  };
}

function encode(path: string, kinds: readonly Kind[], options: OpenApiOptions): HashedDocument {
  const body = Buffer.from(JSON.stringify(openApiV3(kinds, options)));
  const hash = hashOf(body);
  const url = `${options.root}/openapi/v3/${path}?hash=${hash}`;
  return { ...readyDocument(JSON_TYPE, body), hash, url };
}

/** The document of some kinds as plain JSON. */
export function openApiV3(kinds: readonly Kind[], options: OpenApiOptions) {
  return {
    openapi: '3.0.0',
    info: { title: 'gitplane', version: options.version },
    paths: pathsOf(kinds.flatMap(operationsOf), (operation) => operationV3(operation, options)),
    components: {
      schemas: schemasOf(kinds),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
    security: [{ bearer: [] }],
  };
}

/** Operations by path and method; also for version 2. */
export function pathsOf(
  operations: readonly Operation[],
  write: (operation: Operation) => JsonObject,
): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const operation of operations) {
    const item = paths[operation.path] ?? {};
    item[operation.method] = write(operation);
    paths[operation.path] = item;
  }
  return paths;
}

function operationV3(operation: Operation, options: OpenApiOptions): JsonObject {
  return {
    ...commonFields(operation),
    parameters: operation.parameters.map(parameterV3),
    ...(operation.body === undefined ? {} : { requestBody: requestBody(operation, options) }),
    responses: Object.fromEntries(responses(operation)),
  };
}

/** The parts that both versions of OpenAPI share. */
export function commonFields({ kind, gvk, action, description, id }: Operation): JsonObject {
  return {
    description,
    operationId: id,
    tags: [`${kind.group.replaceAll('.', '_')}_${kind.version}`],
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvkOf(gvk),
  };
}

function parameterV3({ name, in: where, type, description, limits }: Parameter): JsonObject {
  const required = where === 'path' ? { required: true } : {};
  const schema = { type, uniqueItems: true, ...limits };
  return { name, in: where, description, ...required, schema };
}

function requestBody({ method, body }: Operation, options: OpenApiOptions): JsonValue {
  if (body === undefined) return null;
  const types = method === 'patch' ? acceptedPatchTypes(options) : [JSON_TYPE, YAML_TYPE];
  return { ...(body.required ? { required: true } : {}), content: contentOf(types, body.schema) };
}

function contentOf(types: readonly string[], schema: string): JsonObject {
  return Object.fromEntries(types.map((type) => [type, { schema: refTo(schema) }]));
}

function responses(operation: Operation): [string, JsonObject][] {
  const named = Object.entries(operation.responses).map(([code, schema]): [string, JsonObject] => {
    const content = contentOf([JSON_TYPE, YAML_TYPE], schema);
    return [code, { description: DESCRIPTIONS[code] ?? '', content }];
  });
  return [...named, ['401', { description: 'Unauthorized' }]];
}

export const DESCRIPTIONS: Readonly<Record<string, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
};
