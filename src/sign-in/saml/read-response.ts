/** Reads a response: its facts, or the reason of a refusal. Runs in a worker thread. */
import { checkResponse, readAssertion } from './assertion.ts';
import { ASSERTION } from './namespaces.ts';
import { demand, Refusal } from './refusal.ts';
import { type ResponseShape, responseShape } from './response-shape.ts';
import { signedAssertion } from './signed-assertion.ts';
import type { AssertionFacts, ReadRequest, ReadResult } from './worker-messages.ts';
import type { XmlElement } from './xml.ts';
import { childrenNamed, parseXml, textOf } from './xml.ts';

export async function readResponse(request: ReadRequest): Promise<ReadResult> {
  try {
    return { facts: await factsOf(request) };
  } catch (error) {
    if (!(error instanceof Refusal)) {
      const message = 'it cannot be read';
      return { refused: { reason: 'unreadable', message, code: 400 } };
    }
    const { reason, message, code } = error;
    return { refused: { reason, message, code } };
  }
}

async function factsOf(request: ReadRequest): Promise<AssertionFacts> {
  const { text, expected, trust } = request;
  const shape = responseShape(await parseXml(text));
  checkResponse(shape.response, expected);
  const claimed = readAssertion(shape.assertion, expected);
  checkIssuers(shape.response, claimed);
  return trust === 'unsigned' ? claimed : await provenFacts(request, shape, claimed);
}

/** Checks that the outer element has the same issuer as the assertion, if any. Throws Refusal. */
function checkIssuers(response: XmlElement, facts: AssertionFacts): void {
  const outer = childrenNamed(response, ASSERTION, 'Issuer');
  const agree = outer.length <= 1 && outer.every((issuer) => textOf(issuer) === facts.issuer);
  demand(agree, 'issuer', 'the issuers of response and assertion differ');
}

async function provenFacts(
  request: ReadRequest,
  shape: ResponseShape,
  claimed: AssertionFacts,
): Promise<AssertionFacts> {
  const facts = readAssertion(await signedAssertion(request, shape), request.expected);
  // Both readings of one document must agree: a difference is an attack.
  demand(
    JSON.stringify(facts) === JSON.stringify(claimed),
    'signature',
    'it says something else than what was signed',
  );
  return facts;
}
