/** The unsigned AuthnRequest that a browser takes to the provider (SAML core 3.4, HTTP-POST binding). */
import { ASSERTION, PROTOCOL } from './namespaces.ts';

export interface AuthnRequest {
  /** An XML name. */
  readonly id: string;
  /** Unix time in ms. */
  readonly issuedAt: number;
  readonly issuer: string;
  readonly destination: string;
  readonly redirectUri: string;
  /** URI. */
  readonly nameIdFormat: string;
}

/** Value of the form field `SAMLRequest`. */
export function encodedRequest(request: AuthnRequest): string {
  return Buffer.from(requestText(request)).toString('base64');
}

function requestText(of: AuthnRequest): string {
  const head = attributes({
    'xmlns:samlp': PROTOCOL,
    'xmlns:saml': ASSERTION,
    ID: of.id,
    Version: '2.0',
    IssueInstant: new Date(of.issuedAt).toISOString(),
    Destination: of.destination,
    ProtocolBinding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
    AssertionConsumerServiceURL: of.redirectUri,
  });
  const policy = attributes({ Format: of.nameIdFormat, AllowCreate: 'true' });
  return (
    `<samlp:AuthnRequest${head}><saml:Issuer>${escaped(of.issuer)}</saml:Issuer>` +
    `<samlp:NameIDPolicy${policy}/></samlp:AuthnRequest>`
  );
}

function attributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escaped(value)}"`)
    .join('');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ESCAPES[character] ?? '');
}
