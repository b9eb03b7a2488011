/** One operation of a document, and the parts that operations share. */
import { isRecord, type JsonObject } from '../../../apimachinery/index.ts';
import { count, flag, ref, STATUS_SCHEMA, text } from './schema-parts.ts';

export type DocumentMethod = 'get' | 'post' | 'delete';

/** Values of a parameter are JSON Schemas with a description. */
export type Parameters = Readonly<Record<string, JsonObject>>;

export interface DocumentOperation {
  /** Below the host; `{name}` is a parameter. */
  readonly path: string;
  readonly method: DocumentMethod;
  /** Unique in the document. */
  readonly id: string;
  readonly description: string;
  readonly tag: string;
  /** Names that end with `!` are required. */
  readonly query?: Parameters;
  readonly parts?: Parameters;
  /** Name of the schema of the body. */
  readonly body?: string;
  /** Schemas by status code; a text is a plain text with this description. */
  readonly answers: Readonly<Record<number, string | JsonObject>>;
  /** Status codes of refusals beside 401, 403 and 429. */
  readonly refusals?: readonly number[];
  /** True: no credentials are needed. */
  readonly isPublic?: true;
  /** True: a route of its own answers it, before the documents. */
  readonly isOwnRoute?: true;
}

export type UntaggedOperation = Omit<DocumentOperation, 'tag'>;

export const tagged = (
  tag: string,
  operations: readonly UntaggedOperation[],
): readonly DocumentOperation[] => operations.map((one) => ({ ...one, tag }));

export const PRETTY: Parameters = { pretty: flag('Indents the answer.') };
export const PAST: Parameters = {
  atRevision: text('Commit of the branch: its id, or how that begins.', {
    pattern: '^[0-9a-fA-F]{4,40}$',
  }),
  atTime: text('Time in the past (RFC 3339).', { format: 'date-time' }),
};
export const page = (usual: number, most: number): Parameters => ({
  limit: count(`Number of items; ${usual} if absent. Larger values are cut to ${most}.`, {
    minimum: 0,
  }),
  continue: text('`metadata.continue` of the page before.'),
});
export const WAIT: Parameters = {
  timeout: text('Longest wait: a duration such as `30s`, or whole seconds; at most five minutes.', {
    default: '30s',
  }),
};
export const SUBJECT: Parameters = {
  user: text('User that the question is about. Absent: the caller.'),
  team: text('Team that the question is about.'),
  key: text('Access key that the question is about.'),
};
const LONG = { maxLength: 253 };
export const ATTRIBUTES: Parameters = {
  'verb!': text('Verb, as in `get`, `update` or `*`.', LONG),
  resource: text('Plural, perhaps with a subresource: `teams/status`.', LONG),
  group: text('API group. Absent: the first group with the plural.', LONG),
  namespace: text('Namespace of the object.', LONG),
  name: text('Name of the object.', LONG),
  path: text('In place of `resource`: the path of a document.', LONG),
};

const REFUSED: Readonly<Record<number, string>> = {
  400: 'The request is not valid.',
  401: 'The caller is not known.',
  403: 'The caller has no right to it.',
  404: 'Nothing is there.',
  409: 'The newest state stands against it.',
  410: 'The position in `continue` exists no more.',
  429: 'Too many requests: try again after `Retry-After`.',
  503: 'The daemon cannot answer now: try again after `Retry-After`.',
  504: 'The time of the wait is over.',
};

/** The operation in the form of OpenAPI 3. */
export function openApiOperation(operation: DocumentOperation): JsonObject {
  const { id, description, tag, query = {}, parts = {}, body, answers, isPublic } = operation;
  const common = isPublic === true ? [] : [401, 403, 429];
  const refusals = [...common, ...(operation.refusals ?? [])].filter((code) => !(code in answers));
  return {
    operationId: id,
    description,
    tags: [tag],
    ...(isPublic === true ? { security: [] } : {}),
    parameters: [...parametersIn('path', parts), ...parametersIn('query', query)],
    ...(body === undefined ? {} : { requestBody: requestBody(body) }),
    responses: Object.fromEntries([
      ...Object.entries(answers).map(([code, answer]) => [code, response(answer)]),
      ...refusals.map((code) => [code, refusal(code)]),
    ]),
  };
}

function parametersIn(where: 'path' | 'query', parameters: Parameters): JsonObject[] {
  return Object.entries(parameters).map(([name, { description = '', ...schema }]) => ({
    name: name.replace(/!$/, ''),
    in: where,
    description,
    ...(where === 'path' || name.endsWith('!') ? { required: true } : {}),
    schema,
  }));
}

function requestBody(schema: string): JsonObject {
  const types = ['application/json', 'application/yaml'];
  const content = Object.fromEntries(types.map((type) => [type, { schema: ref(schema) }]));
  return { required: true, content };
}

function response(answer: string | JsonObject): JsonObject {
  if (isRecord(answer) && isRecord(answer['content'])) return answer;
  const schema = typeof answer === 'string' ? ref(answer) : answer;
  return { description: 'OK', content: { 'application/json': { schema } } };
}

export function plainText(description: string): JsonObject {
  return { description, content: { 'text/plain': { schema: { type: 'string' } } } };
}

function refusal(code: number): JsonObject {
  const schema = ref(STATUS_SCHEMA);
  return { description: REFUSED[code] ?? 'Refused.', content: { 'application/json': { schema } } };
}
