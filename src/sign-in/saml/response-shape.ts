/**
 * Shape that a document must have before its signatures are checked: one response with one assertion,
 * signed only in the expected place, and of limited size. Wrapping attacks need a second assertion,
 * signature or id, and fail here.
 */
import { ASSERTION, PROTOCOL, SIGNATURE } from './namespaces.ts';
import { demand, Refusal } from './refusal.ts';
import {
  attribute,
  attributesOf,
  childElements,
  childrenNamed,
  isNamed,
  type XmlElement,
} from './xml.ts';

const DEEPEST = 32;
/** Limited, because the library visits each of them several times, and siblings even more often. */
const MOST_ELEMENTS = 2500;
const MOST_SIBLINGS = 1000;
const MOST_ATTRIBUTES = 64;

const SIGNATURE_METHODS = new Set([
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
]);
const DIGEST_METHODS = new Set([
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
]);
const CANONICAL_FORMS = [
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/2001/10/xml-exc-c14n#WithComments',
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments',
];
const ALGORITHMS = new Map<string, ReadonlySet<string>>([
  ['SignatureMethod', SIGNATURE_METHODS],
  ['DigestMethod', DIGEST_METHODS],
  ['CanonicalizationMethod', new Set(CANONICAL_FORMS)],
  [
    'Transform',
    new Set([...CANONICAL_FORMS, 'http://www.w3.org/2000/09/xmldsig#enveloped-signature']),
  ],
]);

export interface ResponseShape {
  readonly response: XmlElement;
  readonly assertion: XmlElement;
  readonly isResponseSigned: boolean;
  readonly isAssertionSigned: boolean;
}

/** Throws Refusal. */
export function responseShape(root: XmlElement): ResponseShape {
  demand(isNamed(root, PROTOCOL, 'Response'), 'no-response', 'it is no SAML response');
  const all = elementsBelow(root);
  checkIds(all);
  checkStatus(root, all);
  const assertion = onlyAssertion(root, all);
  checkSignatures(all);
  const signatures = all.filter(isSignature);
  const isSigned = (of: XmlElement): boolean =>
    signatures.some(({ parentNode }) => parentNode === of);
  const inPlace = signatures.filter(({ parentNode }) =>
    [root, assertion].includes(parentNode ?? root),
  );
  demand(
    inPlace.length === signatures.length &&
      new Set(signatures.map(parentOf)).size === signatures.length,
    'misplaced-signature',
    'it is signed where nothing is to be signed, or twice in one place',
  );
  return {
    response: root,
    assertion,
    isResponseSigned: isSigned(root),
    isAssertionSigned: isSigned(assertion),
  };
}

function isSignature({ localName }: XmlElement): boolean {
  return localName === 'Signature';
}

function parentOf({ parentNode }: XmlElement): XmlElement | null {
  return parentNode;
}

/** The root and all descendants, without recursion: nesting may be as deep as the text is long. */
function elementsBelow(root: XmlElement): XmlElement[] {
  const all: XmlElement[] = [];
  let level = [root];
  for (let depth = 1; level.length > 0; depth++) {
    demand(depth <= DEEPEST, 'too-large', `it is nested deeper than ${DEEPEST} elements`);
    for (const element of level) all.push(element);
    demand(all.length <= MOST_ELEMENTS, 'too-large', `it has more than ${MOST_ELEMENTS} elements`);
    level = level.flatMap((element) => {
      const children = childElements(element);
      demand(
        children.length <= MOST_SIBLINGS && element.attributes.length <= MOST_ATTRIBUTES,
        'too-large',
        `an element has more than ${MOST_SIBLINGS} children or ${MOST_ATTRIBUTES} attributes`,
      );
      return children;
    });
  }
  return all;
}

/** The target of a signature must be unambiguous for every reader. */
function checkIds(all: readonly XmlElement[]): void {
  const seen = new Set<string>();
  for (const element of all) {
    for (const { localName, name, value } of attributesOf(element)) {
      if ((localName ?? name).toLowerCase() !== 'id') continue;
      demand(!seen.has(value), 'duplicate-id', 'two elements have one id');
      seen.add(value);
    }
  }
}

const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success';
/** Second-level status codes that refuse this user. */
const DENIED = /:(AuthnFailed|RequestDenied|UnknownPrincipal|NoAuthnContext|NoPassive)$/;

function checkStatus(root: XmlElement, all: readonly XmlElement[]): void {
  const [status, ...more] = all.filter(({ localName }) => localName === 'Status');
  const isOne = status !== undefined && more.length === 0 && status.parentNode === root;
  demand(
    isOne && isNamed(status, PROTOCOL, 'Status'),
    'no-status',
    'it has not exactly one status',
  );
  const codes = childrenNamed(status, PROTOCOL, 'StatusCode');
  const [code] = codes;
  if (codes.length === 1 && code !== undefined && attribute(code, 'Value') === SUCCESS) return;
  const inner = code === undefined ? undefined : childrenNamed(code, PROTOCOL, 'StatusCode')[0];
  const isDenied = inner !== undefined && DENIED.test(attribute(inner, 'Value') ?? '');
  throw isDenied
    ? new Refusal('the provider did not let this person in', {
        reason: 'denied-by-provider',
        code: 403,
      })
    : new Refusal('its status is not Success', { reason: 'no-success', code: 502 });
}

/** In any namespace, because another parser may ignore it. */
function onlyAssertion(root: XmlElement, all: readonly XmlElement[]): XmlElement {
  demand(
    !all.some(({ localName }) => /^Encrypted/.test(localName)),
    'encrypted',
    'parts of it are encrypted, and there is no key for them',
  );
  const [assertion, ...more] = all.filter(({ localName }) => localName === 'Assertion');
  demand(
    assertion !== undefined && more.length === 0,
    'assertion-count',
    'it has not exactly one assertion',
  );
  demand(
    isNamed(assertion, ASSERTION, 'Assertion') && assertion.parentNode === root,
    'assertion-place',
    'its assertion is not where it belongs',
  );
  return assertion;
}

/** Allow list: SHA-1, MD5, HMAC with a public key and unknown algorithms are not in it. */
function checkSignatures(all: readonly XmlElement[]): void {
  for (const element of all) {
    const allowed = ALGORITHMS.get(element.localName);
    if (allowed !== undefined) {
      const algorithm = attribute(element, 'Algorithm') ?? '';
      demand(allowed.has(algorithm), 'weak-algorithm', 'it is signed in a way that is not taken');
    }
    demand(
      !(isNamed(element, SIGNATURE, 'Object') || element.localName === 'Manifest'),
      'misplaced-signature',
      'a signature holds objects',
    );
  }
  for (const signature of all.filter(isSignature)) {
    demand(
      isNamed(signature, SIGNATURE, 'Signature'),
      'misplaced-signature',
      'a signature is none',
    );
    for (const name of ['SignedInfo', 'SignatureValue']) {
      const count = childrenNamed(signature, SIGNATURE, name).length;
      demand(count === 1, 'signature-shape', `a signature has ${count} elements ${name}`);
    }
  }
}
