/**
 * Redaction of bodies for the audit log. Values that may be secret are removed, whatever the policy
 * says; a body that cannot be classified is dropped as a whole.
 */
import { isRecord } from '../apimachinery/index.ts';
import {
  compileSchema,
  type Kind,
  MASK,
  masked,
  type SecretPaths,
  schemaAt,
  schemaTree,
  secretsOf,
} from '../kinds/index.ts';

export type Redacted = { readonly value: unknown } | { readonly omitted: 'invalid' };

/** Values that the file of an object encrypts beside the secret fields of its kind; undefined: none. */
type Encrypted = SecretPaths | undefined;

/**
 * The body of a request for objects of a kind. A kind of undefined: the body is of no stored
 * object.
 */
export function redactedRequest(
  kind: Kind | undefined,
  body: unknown,
  encrypted?: Encrypted,
): Redacted {
  if (kind === undefined) return { value: withoutSecretWords(body) };
  if (Array.isArray(body)) {
    const secrets = isSensitive(kind, encrypted) ? pathsOf(kind, encrypted) : undefined;
    return { value: body.map((one) => redactedOperation(kind, one, secrets)) };
  }
  if (!isSensitive(kind, encrypted)) return { value: withoutSecretWords(body) };
  if (!isRecord(body)) return { omitted: 'invalid' };
  // A field that is not where its schema declares it may be a misplaced secret.
  const { status: _status, ...object } = body;
  const { metadata, ...rest } = object;
  const problems = compileSchema(kind.schema).check({ metadata: {}, ...rest });
  if (problems.some(({ type }) => type !== 'FieldValueRequired')) return { omitted: 'invalid' };
  const meta = isRecord(metadata) ? { metadata: withoutSecretWords(metadata) } : {};
  return { value: masked({ ...rest, ...meta }, [], pathsOf(kind, encrypted)) };
}

/** The body of a response: an object, a list, a table, or a Status. */
export function redactedResponse(
  kind: Kind | undefined,
  body: unknown,
  encryptedOf: (object: unknown) => Encrypted = () => undefined,
): unknown {
  if (kind === undefined) return withoutSecretWords(body);
  if (!isRecord(body)) return undefined;
  const one = (object: unknown): unknown => masked(object, [], pathsOf(kind, encryptedOf(object)));
  // The preview of a dry run: the text of the file, which may be in plaintext, and the object.
  if (body['kind'] === 'WritePreview') {
    const texts = ['before', 'after'].filter((field) => typeof body[field] === 'string');
    const hidden = Object.fromEntries(texts.map((field) => [field, MASK]));
    return { ...body, ...hidden, object: one(body['object']) };
  }
  if (Array.isArray(body['items'])) return { ...body, items: body['items'].map(one) };
  if (Array.isArray(body['rows'])) return { ...body, rows: body['rows'].map(redactedRow) };
  return one(body);

  function redactedRow(row: unknown): unknown {
    if (!isRecord(row)) return row;
    const object = one(row['object']);
    // A column may show a field that only the file of the object makes secret.
    return encryptedOf(row['object']) === undefined
      ? { ...row, object }
      : { ...row, object, cells: MASK };
  }
}

/** True if responses of a kind need no redaction, unless the file of an object encrypts more. */
export function isPlain(kind: Kind): boolean {
  return !isSensitive(kind, undefined);
}

function isSensitive(kind: Kind, encrypted: Encrypted): boolean {
  return kind.secretPaths.length > 0 || kind.writeOnly.length > 0 || encrypted !== undefined;
}

/** Paths to redact. A map of secrets is redacted as a whole, since its shape may be wrong. */
function pathsOf(kind: Kind, encrypted: Encrypted): SecretPaths {
  return secretsOf(kind, encrypted).map((path) => (path.at(-1) === '*' ? path.slice(0, -1) : path));
}

/** An operation of a JSON patch: its value is at its path. `secrets` undefined: the kind has none. */
function redactedOperation(
  kind: Kind,
  operation: unknown,
  secrets: SecretPaths | undefined,
): unknown {
  if (!isRecord(operation) || typeof operation['path'] !== 'string') return MASK;
  const { op, path, from, value } = operation;
  const shown = { op, path, ...(from === undefined ? {} : { from }) };
  if (value === undefined) return shown;
  if (secrets === undefined) return { ...shown, value: withoutSecretWords(value) };
  const steps = path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const place = steps.map((step) => (/^(\d+|-)$/.test(step) ? Number(step) || 0 : step));
  const isKnown = schemaAt(schemaTree(kind.schema), place) !== undefined;
  const isWhole = isRecord(value) || Array.isArray(value);
  // A partial object does not show if a secret is misplaced in it.
  const isSafe = isKnown && !isWhole;
  return { ...shown, value: isSafe ? masked(value, steps, secrets) : MASK };
}

const SECRET_WORD =
  /token|secret|password|passwd|credential|authorization|cookie|connectorData|kubeconfig|last-applied-configuration|^key$|^raw$|^code$|^assertion$/i;

/** Redaction by names of fields, for bodies without a schema. */
function withoutSecretWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecretWords);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      SECRET_WORD.test(key) && !isEmpty(item) ? MASK : withoutSecretWords(item),
    ]),
  );
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || typeof value === 'boolean';
}

const SECRET_PARAMETER = /token|code|state|saml|key|secret|password|assertion/i;

/** A URL, redacted. */
export function redactedUrl(url: string): string {
  if (isWebhook(url)) return `/hooks/${MASK}`;
  const mark = url.indexOf('?');
  if (mark < 0) return url;
  const query = new URLSearchParams(url.slice(mark + 1));
  const keep = ['continue', 'resourceVersion', 'resourceVersionMatch'];
  for (const name of [...query.keys()]) {
    if (SECRET_PARAMETER.test(name) && !keep.includes(name)) query.set(name, MASK);
  }
  return `${url.slice(0, mark)}?${query.toString()}`;
}

/** A message, redacted: refusals quote the path of the request. */
export function redactedMessage(message: string): string {
  return message.replace(/(?<=\bpath )"(?:[^"\\]|\\.)*"/g, (quoted) =>
    isWebhook(quoted.slice(1, -1)) ? `"/hooks/${MASK}"` : quoted,
  );
}

/**
 * The path of a webhook contains its secret; proxies and forges may encode the path in other ways.
 */
const WEBHOOK_PATH = /^\/+hooks./i;
/** Escapes may be nested three levels deep. */
const MOST_DECODINGS = 3;

function isWebhook(url: string): boolean {
  if (!/hooks|%/i.test(url)) return false;
  let path = url.replace(/^https?:\/\/[^/]*/i, '').replace(/[?#].*$/s, '');
  for (let i = 0; i < MOST_DECODINGS; i++) {
    path = path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  }
  const absolute = `http://localhost/${path.replace(/\\/g, '/').replace(/[?#]/g, '/')}`;
  return URL.canParse(absolute) && WEBHOOK_PATH.test(new URL(absolute).pathname);
}
