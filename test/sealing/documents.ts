/** Random files as people seal them: several documents, odd keys and values, comments. */
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/apimachinery/object.ts';
import { formatManifest } from '../../src/manifests/write.ts';
import type { Rule } from '../../src/sealing/selection.ts';

export const RULE: Rule = { name: 'encrypted_regex', text: '^(data|secret)$' };

/** sops reads a key `<<` in quotes, and writes it without: what it prints then is another document. */
const NOT_FOR_SOPS = /^__|^(sops|data|secret|<<)$/;

const key = fc.oneof(
  fc.constantFrom('a', 'b', 'password', 'tls.key', '0', '7', '123', '01', 'on', '-', '_x'),
  fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !NOT_FOR_SOPS.test(text)),
);

const text = fc.oneof(
  fc.constantFrom(
    '',
    'true',
    '0123',
    '1e10',
    '~',
    '2020-01-02',
    ' x',
    '#',
    'a: b',
    'ENC[',
    'x\ny\n',
  ),
  fc.base64String({ maxLength: 24 }),
  fc.string({ unit: 'binary', maxLength: 12 }).filter((it) => Buffer.from(it).toString() === it),
);

const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 6, arbitrary: text },
  { weight: 1, arbitrary: fc.maxSafeInteger() },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  { weight: 1, arbitrary: fc.boolean() },
  { weight: 1, arbitrary: fc.constant(null) },
);

const value = fc.letrec<{ node: JsonValue }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalar,
    fc.array(tie('node'), { maxLength: 3 }),
    fc.dictionary(key, tie('node'), { maxKeys: 3 }) as fc.Arbitrary<JsonValue>,
  ),
})).node;

const secrets = fc.dictionary(key, value, { maxKeys: 4 }) as fc.Arbitrary<JsonObject>;

const document = fc.record({ name: text, data: secrets, more: value, secret: value }).map(
  ({ name, data, more, secret }): JsonObject => ({
    kind: 'SharedSecret',
    metadata: { name },
    spec: { data, more, list: [{ secret }] },
  }),
);

/** One or two documents, in the form in which the platform writes them. */
export const file: fc.Arbitrary<string> = fc
  .array(document, { minLength: 1, maxLength: 2 })
  .map((documents) => documents.map(formatManifest).join('---\n'));
