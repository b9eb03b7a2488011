/**
 * Assertion of a response, from the bytes that a known certificate signed. Facts that the library does not
 * check on this path (issuer, recipient, status, weak algorithms …) are checked before and after. The
 * library ignores a broken signature of the response, so that one is checked separately.
 */
import { X509Certificate } from 'node:crypto';
import { SAML, ValidateInResponseTo } from '@node-saml/node-saml';
import { MOST_AGE_MS, SKEW_MS } from './assertion.ts';
import { Refusal } from './refusal.ts';
import type { ResponseShape } from './response-shape.ts';
import type { ReadRequest } from './worker-messages.ts';
import { childElements, parseXml, type XmlElement } from './xml.ts';

/** Throws Refusal. */
export async function signedAssertion(
  { text, expected, certificates }: ReadRequest,
  shape: ResponseShape,
): Promise<XmlElement> {
  // The library would accept an unsigned document as unchecked.
  if (certificates.length === 0) {
    throw new Refusal('there is no certificate to check it with', {
      reason: 'no-certificate',
      code: 502,
    });
  }
  if (!shape.isResponseSigned && !shape.isAssertionSigned) {
    throw new Refusal('it is not signed', { reason: 'unsigned' });
  }
  const isKnown = (id: string): boolean => id === expected.requestId;
  const library = new SAML({
    callbackUrl: expected.redirectUri,
    issuer: expected.audience,
    audience: expected.audience,
    idpCert: [...certificates],
    wantAuthnResponseSigned: shape.isResponseSigned,
    wantAssertionsSigned: shape.isAssertionSigned,
    validateInResponseTo: ValidateInResponseTo.always,
    cacheProvider: {
      saveAsync: async () => null,
      getAsync: async (id) => (isKnown(id) ? new Date(expected.now).toISOString() : null),
      removeAsync: async () => null,
    },
    acceptedClockSkewMs: SKEW_MS,
    maxAssertionAgeMs: MOST_AGE_MS,
    disableRequestedAuthnContext: true,
  });
  const SAMLResponse = Buffer.from(text).toString('base64');
  let signed: string | undefined;
  try {
    const { profile } = await library.validatePostResponseAsync({ SAMLResponse });
    signed = profile?.getAssertionXml?.();
  } catch (cause) {
    throw isForeign(shape, certificates)
      ? new Refusal('it is signed with a certificate that is not configured', {
          reason: 'other-certificate',
          cause,
        })
      : new Refusal('its signature does not hold', { reason: 'signature', cause });
  }
  if (signed === undefined) throw new Refusal('nothing of it is signed', { reason: 'signature' });
  return await parseXml(signed);
}

/** Distinguishes a changed certificate from a changed response; grants no trust. */
function isForeign(shape: ResponseShape, certificates: readonly string[]): boolean {
  const known = new Set(certificates.map((pem) => new X509Certificate(pem).fingerprint256));
  return [shape.response, shape.assertion].some((signed) =>
    named(signed, ['Signature', 'KeyInfo', 'X509Data', 'X509Certificate']).some(
      ({ textContent }) => !known.has(fingerprint(textContent)),
    ),
  );
}

function named(of: XmlElement, [name, ...rest]: readonly string[]): XmlElement[] {
  if (name === undefined) return [of];
  return childElements(of)
    .filter(({ localName }) => localName === name)
    .flatMap((child) => named(child, rest));
}

function fingerprint(base64: string): string {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).fingerprint256;
  } catch {
    return '';
  }
}
