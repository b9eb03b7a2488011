/**
 * `/openapi.json`: the whole API in one OpenAPI 3 document. A request for a document that its tables of
 * operations do not have is not answered, so that the OpenAPI document is complete.
 */
import { isRecord, type JsonObject } from '../../../apimachinery/index.ts';
import type { KindTable } from '../../../kinds/index.ts';
import { JSON_TYPE } from '../../output/negotiation.ts';
import { type OpenApiOptions, openApiV3 } from '../openapi.ts';
import { type ReadyDocument, readyDocument } from '../ready-document.ts';
import { HISTORY_SCHEMAS } from './history-schemas.ts';
import { type DocumentOperation, openApiOperation } from './operation.ts';
import { OVERVIEW_SCHEMAS } from './overview-schemas.ts';
import { PLATFORM_OPERATIONS } from './platform-operations.ts';
import { SERVICE_OPERATIONS } from './service-operations.ts';
import { SERVICE_SCHEMAS } from './service-schemas.ts';

export const DOCUMENT_OPERATIONS: readonly DocumentOperation[] = [
  ...PLATFORM_OPERATIONS,
  ...SERVICE_OPERATIONS,
];

/** The document as plain JSON. Paths of the Kubernetes API have its root in front. */
export function wholeApi({ kinds }: Pick<KindTable, 'kinds'>, options: OpenApiOptions): JsonObject {
  const { paths, components, ...rest } = openApiV3(kinds, options);
  const ofKinds = Object.entries(paths).map(([path, item]) => [
    `${options.root}${path}`,
    isRecord(item) ? withHeaders(item) : item,
  ]);
  const { schemas } = components;
  return {
    ...rest,
    paths: { ...documentPaths(), ...Object.fromEntries(ofKinds) },
    components: {
      ...components,
      schemas: { ...OVERVIEW_SCHEMAS, ...HISTORY_SCHEMAS, ...SERVICE_SCHEMAS, ...schemas },
    },
  };
}

/** Headers that writes of objects take. */
const HEADERS = [
  {
    name: 'Idempotency-Key',
    description: 'Name of the write: a repeated request with it has no second effect.',
    schema: { type: 'string', maxLength: 256 },
  },
  {
    name: 'Gitplane-Reason',
    description: 'Reason of the write, in UTF-8, for the message of the commit.',
    schema: { type: 'string' },
  },
].map((header) => ({ ...header, in: 'header' }));

function withHeaders(item: JsonObject): JsonObject {
  const entries = Object.entries(item).map(([method, operation]) => {
    const isWrite = method !== 'get' && isRecord(operation);
    if (!isWrite || !Array.isArray(operation['parameters'])) return [method, operation];
    return [method, { ...operation, parameters: [...operation['parameters'], ...HEADERS] }];
  });
  return Object.fromEntries(entries);
}

export function encodedApi(
  kinds: Pick<KindTable, 'kinds'>,
  options: OpenApiOptions,
): ReadyDocument {
  return readyDocument(JSON_TYPE, Buffer.from(JSON.stringify(wholeApi(kinds, options))));
}

function documentPaths(): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const operation of DOCUMENT_OPERATIONS) {
    const item = paths[operation.path] ?? {};
    item[operation.method] = openApiOperation(operation);
    paths[operation.path] = item;
  }
  return paths;
}

const MATCHERS = DOCUMENT_OPERATIONS.filter(({ isOwnRoute }) => isOwnRoute !== true).map(matcherOf);

/** True if the table has the document; HEAD counts as GET. */
export function isDocumented(method: string, path: string): boolean {
  const asked = method === 'head' ? 'get' : method;
  return MATCHERS.some((one) => one.method === asked && one.pattern.test(path));
}

function matcherOf({ path, method }: DocumentOperation): { method: string; pattern: RegExp } {
  const literal = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
  return { method, pattern: new RegExp(`^${literal.replace(/\{\w+\}/g, '[^/]+')}$`) };
}
