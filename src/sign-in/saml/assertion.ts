/**
 * Checks that an assertion is for this platform, valid now, and the response to our request (SAML core
 * 2.3–2.5, profiles 4.1.4). It is read twice: from the received text, to report problems, and from the
 * signed bytes. Only the second reading counts.
 */
import { ASSERTION } from './namespaces.ts';
import { demand } from './refusal.ts';
import type { AssertionFacts, Expected } from './worker-messages.ts';
import { attribute, childElements, childrenNamed, textOf, type XmlElement } from './xml.ts';

/** Tolerated clock difference to the provider. */
const SKEW_MS = 30_000;
/** Limit from issue to arrival, whatever validity the assertion states. */
export const MOST_AGE_MS = 600_000;
const LONGEST_NAME_ID = 1024;

export { SKEW_MS };

/** Checks the outer element, which may be unsigned and then proves nothing. Throws Refusal. */
export function checkResponse(response: XmlElement, expected: Expected): void {
  demand(attribute(response, 'Version') === '2.0', 'version', 'it is no SAML 2.0');
  const destination = attribute(response, 'Destination');
  demand(
    destination === undefined || destination === expected.redirectUri,
    'destination',
    'it is for another destination',
  );
  demand(
    attribute(response, 'InResponseTo') === expected.requestId,
    'in-response-to',
    'it answers no request of this login',
  );
}

/** Throws Refusal. */
export function readAssertion(assertion: XmlElement, expected: Expected): AssertionFacts {
  demand(attribute(assertion, 'Version') === '2.0', 'version', 'it is no SAML 2.0');
  const id = attribute(assertion, 'ID') ?? '';
  demand(id !== '', 'no-id', 'its assertion has no id');
  const issued = timeOf(assertion, 'IssueInstant');
  demand(issued !== undefined, 'time', 'its assertion does not say when it was issued');
  const { now } = expected;
  demand(issued <= now + SKEW_MS, 'not-yet-valid', 'it was issued in the future');
  demand(issued + MOST_AGE_MS > now - SKEW_MS, 'expired', 'it was issued too long ago');
  const [subject] = exactlyOne(assertion, 'Subject', 'no-subject');
  const ends = [
    checkConditions(assertion, expected),
    checkConfirmations(subject, expected),
    issued + MOST_AGE_MS,
  ];
  checkSession(assertion, now);
  const nameId = exactlyOne(subject, 'NameID', 'no-name-id')[0];
  return {
    id,
    issuer: issuerOf(assertion, expected),
    nameId: nameText(nameId),
    nameIdFormat: attribute(nameId, 'Format'),
    attributes: attributesIn(assertion),
    until: Math.min(...ends) + SKEW_MS,
  };
}

function issuerOf(assertion: XmlElement, { issuer: wanted }: Expected): string {
  const issuer = textOf(exactlyOne(assertion, 'Issuer', 'issuer')[0]);
  demand(issuer !== '', 'issuer', 'its issuer has no name');
  demand(wanted === undefined || issuer === wanted, 'issuer', 'it is of another issuer');
  return issuer;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const CONTROL = /[\0-\x1f\x7f-\x9f\u2028\u2029]/;

function nameText(nameId: XmlElement): string {
  const text = textOf(nameId);
  const isGood = text.trim() !== '' && text.length <= LONGEST_NAME_ID && !CONTROL.test(text);
  demand(isGood, 'name-id', 'its NameID is empty, too long, or holds line breaks');
  return text;
}

const CONDITIONS = new Set(['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']);

/** End of the conditions; Infinity: unlimited. */
function checkConditions(assertion: XmlElement, expected: Expected): number {
  const [conditions] = exactlyOne(assertion, 'Conditions', 'no-conditions');
  const end = checkWindow(conditions, expected.now);
  // An unknown condition makes the assertion indeterminate (core 2.5.1.1).
  const isKnown = ({ localName, namespaceURI }: XmlElement): boolean =>
    namespaceURI === ASSERTION && CONDITIONS.has(localName);
  demand(childElements(conditions).every(isKnown), 'condition', 'it has an unknown condition');
  const restrictions = childrenNamed(conditions, ASSERTION, 'AudienceRestriction');
  const isForUs = (restriction: XmlElement): boolean =>
    childrenNamed(restriction, ASSERTION, 'Audience').some(
      (audience) => textOf(audience) === expected.audience,
    );
  demand(
    restrictions.length > 0 && restrictions.every(isForUs),
    'audience',
    'it is for another audience',
  );
  return end;
}

const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';

/** One valid confirmation suffices (core 2.4.1.1); otherwise reports the first problem. */
function checkConfirmations(subject: XmlElement, expected: Expected): number {
  const bearers = childrenNamed(subject, ASSERTION, 'SubjectConfirmation').filter(
    (confirmation) => attribute(confirmation, 'Method') === BEARER,
  );
  demand(bearers.length > 0, 'no-confirmation', 'nothing confirms its subject for a browser');
  const failures: unknown[] = [];
  for (const bearer of bearers) {
    try {
      return checkConfirmation(bearer, expected);
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures[0];
}

function checkConfirmation(confirmation: XmlElement, expected: Expected): number {
  const [data] = exactlyOne(confirmation, 'SubjectConfirmationData', 'no-confirmation');
  demand(
    attribute(data, 'InResponseTo') === expected.requestId,
    'in-response-to',
    'its subject is confirmed for no request of this login',
  );
  const recipient = attribute(data, 'Recipient');
  demand(
    recipient === undefined || recipient === expected.redirectUri,
    'recipient',
    'it is for another recipient',
  );
  const end = checkWindow(data, expected.now);
  demand(end !== Number.POSITIVE_INFINITY, 'expired', 'its confirmation has no end');
  return end;
}

/** Checks NotBefore and NotOnOrAfter of an element, and returns the end. */
function checkWindow(element: XmlElement, now: number): number {
  const from = timeOf(element, 'NotBefore') ?? Number.NEGATIVE_INFINITY;
  const end = timeOf(element, 'NotOnOrAfter') ?? Number.POSITIVE_INFINITY;
  demand(now + SKEW_MS >= from, 'not-yet-valid', 'it is not valid yet');
  demand(now - SKEW_MS < end, 'expired', 'it is not valid any more');
  return end;
}

function checkSession(assertion: XmlElement, now: number): void {
  for (const statement of childrenNamed(assertion, ASSERTION, 'AuthnStatement')) {
    const end = timeOf(statement, 'SessionNotOnOrAfter') ?? Number.POSITIVE_INFINITY;
    demand(now - SKEW_MS < end, 'expired', 'the session at the provider has ended');
  }
}

function attributesIn(assertion: XmlElement): [string, string[]][] {
  return childrenNamed(assertion, ASSERTION, 'AttributeStatement').flatMap((statement) =>
    childrenNamed(statement, ASSERTION, 'Attribute').map((of): [string, string[]] => [
      attribute(of, 'Name') ?? '',
      // Values may be element trees, which are skipped because no setting uses them.
      childrenNamed(of, ASSERTION, 'AttributeValue')
        .filter((value) => childElements(value).length === 0)
        .map(textOf),
    ]),
  );
}

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,12})?(Z|[+-]\d\d:\d\d)$/;

function timeOf(element: XmlElement, name: string): number | undefined {
  const text = attribute(element, name);
  if (text === undefined) return undefined;
  const time = DATE_TIME.test(text) ? Date.parse(text) : Number.NaN;
  demand(!Number.isNaN(time), 'time', `its ${name} is no time`);
  return time;
}

function exactlyOne(of: XmlElement, name: string, reason: string): [XmlElement] {
  const [found, ...more] = childrenNamed(of, ASSERTION, name);
  demand(found !== undefined && more.length === 0, reason, `it has not exactly one ${name}`);
  return [found];
}
