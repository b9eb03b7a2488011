/** Whatever happens to a signed response on its way, nobody becomes somebody else by it. */
import * as fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { readResponse } from '../../../src/sign-in/saml/read-response.ts';
import { Refusal } from '../../../src/sign-in/saml/refusal.ts';
import { responseText } from '../../../src/sign-in/saml/response-text.ts';
import type { AssertionFacts } from '../../../src/sign-in/saml/worker-messages.ts';
import { runs } from '../../support/properties.ts';
import { type SigningMode, said, signedResponse, signingKey } from '../../support/saml-peer.ts';

const REDIRECT = 'https://p.example.com/auth/saml/callback';
const REQUEST = '_request-1';
const MODES: readonly SigningMode[] = ['response', 'assertion', 'both'];

const texts = new Map<SigningMode, Buffer>();
let certificate: string;

beforeAll(async () => {
  const key = await signingKey();
  certificate = key.certificatePem;
  for (const mode of MODES) {
    const words = said({ inResponseTo: REQUEST, destination: REDIRECT });
    texts.set(mode, Buffer.from(signedResponse(words, key, mode)));
  }
});

async function facts(xml: Buffer): Promise<AssertionFacts | undefined> {
  try {
    const answer = await readResponse({
      text: responseText(xml.toString('base64')),
      expected: {
        requestId: REQUEST,
        redirectUri: REDIRECT,
        audience: REDIRECT,
        issuer: undefined,
        now: Date.now(),
      },
      certificates: [certificate],
      trust: 'signed',
    });
    return 'facts' in answer ? answer.facts : undefined;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

const fragment = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom('<', '>', '"', '&', '/>', '<!--', '-->', '&#x61;', ' ID="x"', ' xmlns="urn:x"')
    .map((text) => Buffer.from(text)),
);
/** One change: `cut` bytes at a place, between 0 and 1 of the length, make room for others. */
const change = fc.record({
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  cut: fc.nat(8),
  put: fc.option(fragment, { nil: Buffer.alloc(0) }),
});
/** One letter for another: most of these are still XML, and get as far as the signature. */
const letter = fc.record({
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  cut: fc.constant(1),
  put: fc.constantFrom(...'aZ09-=+').map((text) => Buffer.from(text)),
});
/** A piece of it once more, somewhere else. */
const copy = fc.record({
  from: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  length: fc.integer({ min: 1, max: 3000 }),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

function place(of: Buffer, share: number): number {
  return Math.floor(of.length * share);
}

test('a changed response says what was signed, or nothing', async () => {
  const originals = new Map<SigningMode, AssertionFacts | undefined>();
  for (const [mode, text] of texts) originals.set(mode, await facts(text));
  expect([...originals.values()].map((known) => known?.nameId)).toEqual(MODES.map(() => 'u-4711'));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...MODES),
      fc.array(fc.oneof(change, letter, copy), { minLength: 1, maxLength: 3 }),
      async (mode, changes) => {
        let xml = texts.get(mode) ?? Buffer.alloc(0);
        for (const one of changes) {
          const at = place(xml, one.at);
          const [cut, put] =
            'put' in one
              ? [one.cut, one.put]
              : [0, xml.subarray(place(xml, one.from)).subarray(0, one.length)];
          xml = Buffer.concat([xml.subarray(0, at), put, xml.subarray(at + cut)]);
        }
        const found = await facts(xml);
        if (found !== undefined) expect(found).toEqual(originals.get(mode));
      },
    ),
    { numRuns: runs(200) },
  );
});
