/**
 * No decision rests on a truncated digest (ADR 0065): 40 bits collide within seconds. A digest that
 * is cut to fewer than 128 bits has to be in the table below, with the reason for which a collision
 * decides nothing.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ALLOWED: Readonly<Record<string, string>> = {
  'apimachinery/name-uuid.ts': 'a UUID of RFC 9562 has 122 bits; it is compared beside the key',
  'auth/rate-limits/counting-slots.ts':
    'a slot of a rate limit under a random key; names that share one make each other wait',
  'endpoint-patches/names.ts':
    'names that another product gives; the sync writes and deletes only what has its annotations',
  'git/serve/hook-server.ts': 'a folder for a socket; a second daemon on it does not start',
  'files/owner.ts': 'which machine made a temporary file; nobody outside chooses what is hashed',
  'manifests/layout.ts': 'the folder of a new file among its siblings; any folder would do',
  'server/routes/console.ts': 'a version of the colors in the URL of a style sheet',
  'sign-in/connectors/id-token-checks.ts': 'at_hash of OpenID Connect is half a digest: 128 bits',
  'server/documents/discovery.ts':
    'storageVersionHash as Kubernetes makes it, of names that nobody outside chooses',
  'signatures/signature-policy.ts': 'a folder in memory of one process, unique by its time',
  'tls/private-authority.ts': 'the common name of an authority, shown; verification takes the key',
};

const ENOUGH_HEX_DIGITS = 32;
const ENOUGH_BYTES = 16;
const CALL = String.raw`\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)`;
const MADE = String.raw`(?:\.digest${CALL}|\bhash${CALL})`;

const src = join(import.meta.dirname, '../src');
const files = new Map(
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [file, readFileSync(join(src, file), 'utf8')]),
);

/** Names of variables and functions of a file that hold or return a digest. */
function namesOfDigests(text: string, known: readonly string[]): string[] {
  const made = [MADE, ...known.map((name) => String.raw`\b${name}${CALL}`)].join('|');
  const value = String.raw`[^;{}]*?(?:${made})(?:\.toString${CALL})?`;
  const patterns = [
    String.raw`const (\w+)(?:: [^=;]+)? = (?:\([^)]*\)(?:: \w+)? =>\s*)?${value};`,
    String.raw`function (\w+)${CALL}[^{]*\{(?:(?!\n\})[^])*?return ${value};\s*\n\}`,
  ];
  return patterns.flatMap((pattern) =>
    [...text.matchAll(new RegExp(pattern, 'g'))].map(([, name = '']) => name),
  );
}

/** The expressions that cut a digest to fewer than 128 bits, or to a length that is not plain. */
function truncations(text: string, imported: readonly string[]): string[] {
  const names = [...new Set([...imported, ...namesOfDigests(text, imported)])];
  const digests = [MADE, ...names.map((name) => String.raw`\b${name}(?:${CALL})?`)].join('|');
  const cut = String.raw`(?:${digests})(?:\.toString${CALL})?\s*\.(slice|subarray|substring|substr|readU?\w*Int\w*)\(([^)]*)\)`;
  return [...text.matchAll(new RegExp(cut, 'g'))]
    .filter(([whole, , bounds = '']) => !isLong(text, whole, bounds))
    .map(([whole]) => whole);
}

function isLong(text: string, whole: string, bounds: string): boolean {
  const [from = '', to = ''] = bounds.split(',').map((bound) => bound.trim());
  const end = Number(/^\d+$/.test(to) ? to : new RegExp(`const ${to} = (\\d+);`).exec(text)?.[1]);
  if (from !== '0') return false;
  return /\.subarray\(/.test(whole)
    ? end >= ENOUGH_BYTES
    : end >= ENOUGH_HEX_DIGITS && whole.includes("'hex'");
}

/** Functions that files export and that return a digest; others import them by name. */
const exported = [...files].flatMap(([file, text]) =>
  namesOfDigests(text, [])
    .filter((name) => new RegExp(`export (?:async )?function ${name}\\b`).test(text))
    .map((name) => ({ file, name })),
);

function importedBy(text: string): string[] {
  const imports = [...text.matchAll(/import (?:type )?\{([^}]*)\} from '\.[^']*'/g)].join(' ');
  return exported
    .map(({ name }) => name)
    .filter((name) => new RegExp(`\\b${name}\\b`).test(imports));
}

describe('digests', () => {
  const found = new Map(
    [...files].map(([file, text]) => [file, truncations(text, importedBy(text))]),
  );

  test('digests of fewer than 128 bits are in the table alone', () => {
    const wrong = [...found].filter(([file, cuts]) => cuts.length > 0 && !(file in ALLOWED));
    expect(wrong).toEqual([]);
  });

  test.each(Object.keys(ALLOWED))('%s still needs its row of the table', (file) => {
    expect(found.get(file)).not.toEqual([]);
  });
});

describe('the search finds', () => {
  test.each([
    [
      'a digest that is cut where it is made',
      "createHash('sha256').update(a).digest('hex').slice(0, 10)",
    ],
    [
      'one over several lines',
      "createHash('sha256')\n  .update(a)\n  .digest('hex')\n  .slice(0, 16)",
    ],
    [
      'one in a variable',
      "const id = createHash('sha1').update(a).digest('hex');\nuse(id.slice(0, 12));",
    ],
    [
      'one that a function makes',
      "function sha(text: string): Buffer {\n  return hash('sha256', text, 'buffer');\n}\nuse(sha(a).subarray(0, 8));",
    ],
    [
      'one that an arrow makes',
      "const sha = (text: string): string => hash('sha256', text);\nuse(sha(a).substring(0, 8));",
    ],
    [
      'one by a constant',
      "const DIGITS = 16;\nconst x = createHmac('sha256', k).update(a).digest('hex').slice(0, DIGITS);",
    ],
    [
      'one of a wide slice without hex',
      "createHash('sha256').update(a).digest('base64').slice(0, 12)",
    ],
    ['a number in its bytes', "createHash('sha256').update(a).digest().readUInt32BE(0)"],
    ['its end', "createHash('sha256').update(a).digest('hex').slice(-8)"],
  ])('%s', (_what, text) => {
    expect(truncations(text, [])).toHaveLength(1);
  });

  test.each([
    ['a whole digest', "use(createHash('sha256').update(a).digest('hex'));"],
    ['128 bits of one', "createHash('sha256').update(a).digest('hex').slice(0, 32)"],
    ['128 bits of its bytes', "createHash('sha256').update(a).digest().subarray(0, 16)"],
    ['a digest of a part', "createHash('sha256').update(a.slice(0, 10)).digest('hex')"],
  ])('no fault in %s', (_what, text) => {
    expect(truncations(text, [])).toEqual([]);
  });
});
