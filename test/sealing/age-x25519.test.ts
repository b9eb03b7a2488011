/** Our reader and writer of age files against the library, which is by the author of the format. */

import { readFileSync } from 'node:fs';
import {
  armor,
  Decrypter,
  Encrypter,
  generateHybridIdentity,
  identityToRecipient,
} from 'age-encryption';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  openForX25519,
  readX25519Identity,
  sealForX25519,
  type X25519Identity,
} from '../../src/sealing/age-x25519.ts';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { runs } from '../support/properties.ts';

interface Person {
  readonly identity: string;
  readonly recipient: string;
  readonly own: X25519Identity;
}

let ann: Person;
let bob: Person;

beforeAll(async () => {
  [ann, bob] = await Promise.all([person(), person()]);
});

async function person(): Promise<Person> {
  const made = await makeIdentity();
  const own = readX25519Identity(made.identity);
  if (own === undefined) throw new Error('an identity is not read');
  return { ...made, own };
}

async function sealedByLibrary(
  payload: Uint8Array,
  recipients: readonly string[],
): Promise<string> {
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  return armor.encode(await encrypter.encrypt(payload));
}

async function openedByLibrary(text: string, ...identities: string[]): Promise<Buffer | undefined> {
  try {
    const decrypter = new Decrypter();
    for (const identity of identities) decrypter.addIdentity(identity);
    return Buffer.from(await decrypter.decrypt(armor.decode(text)));
  } catch {
    return undefined;
  }
}

const payload = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));

describe('an age file', () => {
  test('an age file of the library opens to the same bytes, for each recipient and no other key', async () => {
    const eve = await person();
    await fc.assert(
      fc.asyncProperty(payload, fc.boolean(), async (bytes, both) => {
        const text = await sealedByLibrary(bytes, [
          bob.recipient,
          ...(both ? [ann.recipient] : []),
        ]);

        expect(openForX25519(text, [eve.own])).toBeUndefined();
        expect(openForX25519(text, [eve.own, bob.own])).toEqual(bytes);
        expect(openForX25519(text, [ann.own])).toEqual(both ? bytes : undefined);
      }),
      { numRuns: runs(30) },
    );
  });

  test('an age file of gitplane opens in the library, for its recipient and no other key', async () => {
    await fc.assert(
      fc.asyncProperty(payload, async (bytes) => {
        const text = sealForX25519(bytes, ann.recipient) ?? '';

        expect(await openedByLibrary(text, bob.identity)).toBeUndefined();
        expect(await openedByLibrary(text, ann.identity)).toEqual(bytes);
        expect(armor.encode(armor.decode(text))).toBe(text);
      }),
      { numRuns: runs(30) },
    );
  });

  test('an age file with any change gets the verdict of the library', async () => {
    const binary = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      remove: fc.nat({ max: 2 }),
      insert: fc.constantFrom(
        '',
        '\n',
        ' ',
        'A',
        '=',
        '\r\n',
        '-> X25519 AAAA\n',
        '-> g x\n\n',
        '\0',
        '---',
      ),
      armored: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(payload, binary, async (bytes, change) => {
        const { at, remove, insert, armored } = change;
        const sealed = sealForX25519(bytes, ann.recipient) ?? '';
        const text = armored ? sealed : Buffer.from(armor.decode(sealed)).toString('latin1');
        const offset = Math.floor(at * text.length);
        const spoilt = text.slice(0, offset) + insert + text.slice(offset + remove);
        const file = armored ? spoilt : armor.encode(Buffer.from(spoilt, 'latin1'));

        const expected = await openedByLibrary(file, bob.identity, ann.identity);
        expect(openForX25519(file, [bob.own, ann.own])).toEqual(expected);
      }),
      { numRuns: runs(150) },
    );
  });

  test('a recipient of another type is not supported', async () => {
    const hybrid = await identityToRecipient(await generateHybridIdentity());

    expect(sealForX25519(Buffer.alloc(32), hybrid)).toBeUndefined();
    expect(sealForX25519(Buffer.alloc(32), ann.recipient.replace(/.$/, '!'))).toBeUndefined();
  });
});

/** Of C2SP/CCTV (0BSD): those about X25519 and what is around it, of one chunk. */
const VECTORS = JSON.parse(readFileSync(new URL('age-vectors.json', import.meta.url), 'utf8')) as {
  name: string;
  expect: string;
  identities: string[];
  text: string;
}[];

describe('the test vectors of age', () => {
  test.each(VECTORS)('$name: $expect', ({ expect: expected, identities, text }) => {
    const own = identities.flatMap((identity) => readX25519Identity(identity) ?? []);

    expect(openForX25519(text, own) !== undefined).toBe(expected === 'success');
  });
});

describe('identities', () => {
  test('have the recipient that the library says', async () => {
    for (const { identity, recipient, own } of [ann, bob]) {
      expect(own.recipient).toBe(recipient);
      expect(await identityToRecipient(identity)).toBe(recipient);
    }
  });

  test('an identity with a changed letter is invalid', () => {
    fc.assert(
      fc.property(fc.nat({ max: 57 }), fc.constantFrom('Q', '0', 'B', 'l'), (at, letter) => {
        const offset = 'AGE-SECRET-KEY-1'.length + at;
        const text = ann.identity.slice(0, offset) + letter + ann.identity.slice(offset + 1);
        fc.pre(text !== ann.identity);

        expect(readX25519Identity(text)).toBeUndefined();
      }),
    );
  });
});

describe('a keyring', () => {
  test('opens at once for X25519, and caches failures', async () => {
    const ring = new Keyring([ann.identity]);
    const text = await sealedByLibrary(Buffer.alloc(32, 1), [ann.recipient]);
    const other = await sealedByLibrary(Buffer.alloc(32, 1), [bob.recipient]);

    expect(ring.isQuick).toBe(true);
    expect(ring.known([{ recipient: 'whoever', enc: text }])).toEqual(Buffer.alloc(32, 1));
    expect(ring.known([{ recipient: ann.recipient, enc: other }])).toBeNull();
  });

  test('a keyring with an identity of another type opens the files of either', async () => {
    const hybrid = await generateHybridIdentity();
    const recipient = await identityToRecipient(hybrid);
    const ring = await Keyring.open([hybrid, ann.identity]);
    const [quantum, plain] = [await ring.make([recipient]), await ring.make([ann.recipient])];
    const fresh = new Keyring([hybrid, ann.identity]);

    expect(fresh.isQuick).toBe(false);
    expect(fresh.known(plain.age)).toEqual(plain.dataKey);
    expect(fresh.known(quantum.age)).toBeUndefined();
    expect(await fresh.dataKey(quantum.age)).toEqual(quantum.dataKey);
    expect(fresh.known(quantum.age)).toEqual(quantum.dataKey);
  });

  test('looks at no stanza that is longer than any could be', async () => {
    const ring = new Keyring([ann.identity]);
    const text = await sealedByLibrary(Buffer.alloc(8192), [ann.recipient]);

    expect(ring.known([{ recipient: ann.recipient, enc: text }])).toBeNull();
  });
});
