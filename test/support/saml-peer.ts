/**
 * A SAML identity provider in a few lines: responses are texts, signed with xml-crypto. It shares
 * nothing with what reads them, and can be asked for every kind of wrong one.
 */
import '../../src/tls/reflect-metadata.ts';
import { generateKeyPairSync, randomUUID, webcrypto } from 'node:crypto';
import { X509CertificateGenerator } from '@peculiar/x509';
import { SignedXml } from 'xml-crypto';

const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol';
const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion';

export interface SigningKey {
  readonly keyPem: string;
  readonly certificatePem: string;
}

/** RSA, self-signed. Times in ms of Unix time. */
export async function signingKey(
  of: { name?: string; bits?: number; from?: number; until?: number } = {},
): Promise<SigningKey> {
  const { name = 'idp', bits = 2048, from = Date.now() - 60_000, until = from + 3.2e10 } = of;
  const pair = generateKeyPairSync('rsa', {
    modulusLength: bits,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const der = Buffer.from(pair.privateKey.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  const { subtle } = webcrypto;
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    notBefore: new Date(from),
    notAfter: new Date(until),
    signingAlgorithm: algorithm,
    keys: {
      privateKey: await subtle.importKey('pkcs8', der, algorithm, true, ['sign']),
      publicKey: await subtle.importKey('spki', pair.publicKey, algorithm, true, ['verify']),
    },
  });
  return { keyPem: pair.privateKey, certificatePem: `${certificate.toString('pem')}\n` };
}

/** What a response says. Undefined leaves an attribute or element out. */
export interface Said {
  /** Unix time in ms. */
  now: number;
  id: string;
  assertionId: string;
  inResponseTo: string | undefined;
  destination: string | undefined;
  issuer: string;
  responseIssuer: string | undefined;
  audiences: readonly string[] | undefined;
  nameId: string;
  nameIdFormat: string;
  /** Name and values. */
  attributes: readonly (readonly [string, readonly string[]])[];
  status: string;
  /** Whole element; undefined: the usual one. */
  confirmation: string | undefined;
  confirmedRequest: string | undefined;
  recipient: string | undefined;
  confirmedUntil: number | undefined;
  issuedAt: number;
  notBefore: number | undefined;
  notOnOrAfter: number | undefined;
  /** XML behind the conditions. */
  more: string;
}

export function said(of: Partial<Said> & Pick<Said, 'inResponseTo' | 'destination'>): Said {
  const now = of.now ?? Date.now();
  const id = `_${randomUUID()}`;
  return {
    now,
    id: `${id}r`,
    assertionId: `${id}a`,
    issuer: 'https://idp.example.com/metadata',
    responseIssuer: of.issuer ?? 'https://idp.example.com/metadata',
    audiences: of.destination === undefined ? undefined : [of.destination],
    nameId: 'u-4711',
    nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
    attributes: [
      ['name', ['ann']],
      ['mail', ['ann@example.com']],
      ['groups', ['dev', 'ops']],
    ],
    status: `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/>`,
    confirmation: undefined,
    confirmedRequest: of.inResponseTo,
    recipient: of.destination,
    confirmedUntil: now + 300_000,
    issuedAt: now,
    notBefore: now - 1000,
    notOnOrAfter: now + 300_000,
    more: '',
    ...of,
  };
}

export function assertionXml(of: Said): string {
  const confirmation =
    of.confirmation ??
    `<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">` +
      `<saml:SubjectConfirmationData${attributes({
        InResponseTo: of.confirmedRequest,
        Recipient: of.recipient,
        NotOnOrAfter: time(of.confirmedUntil),
      })}/></saml:SubjectConfirmation>`;
  const audiences = (of.audiences ?? []).map((name) => `<saml:Audience>${name}</saml:Audience>`);
  const restriction =
    of.audiences === undefined
      ? ''
      : `<saml:AudienceRestriction>${audiences.join('')}</saml:AudienceRestriction>`;
  const values = of.attributes.map(([name, list]) => {
    const texts = list.map((text) => `<saml:AttributeValue>${text}</saml:AttributeValue>`);
    return `<saml:Attribute Name="${name}">${texts.join('')}</saml:Attribute>`;
  });
  return (
    `<saml:Assertion xmlns:saml="${ASSERTION}"${attributes({ ID: of.assertionId, Version: '2.0', IssueInstant: time(of.issuedAt) })}>` +
    `<saml:Issuer>${of.issuer}</saml:Issuer>` +
    `<saml:Subject><saml:NameID Format="${of.nameIdFormat}">${of.nameId}</saml:NameID>${confirmation}</saml:Subject>` +
    `<saml:Conditions${attributes({ NotBefore: time(of.notBefore), NotOnOrAfter: time(of.notOnOrAfter) })}>${restriction}</saml:Conditions>` +
    `<saml:AuthnStatement AuthnInstant="${time(of.issuedAt)}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>` +
    `<saml:AttributeStatement>${values.join('')}</saml:AttributeStatement>${of.more}</saml:Assertion>`
  );
}

/** `assertion`: any text in its place. */
export function responseXml(of: Said, assertion = assertionXml(of)): string {
  const issuer =
    of.responseIssuer === undefined
      ? ''
      : `<saml:Issuer xmlns:saml="${ASSERTION}">${of.responseIssuer}</saml:Issuer>`;
  return `<samlp:Response xmlns:samlp="${PROTOCOL}"${attributes({
    ID: of.id,
    Version: '2.0',
    IssueInstant: time(of.now),
    Destination: of.destination,
    InResponseTo: of.inResponseTo,
  })}>${issuer}<samlp:Status>${of.status}</samlp:Status>${assertion}</samlp:Response>`;
}

export interface SignOptions {
  readonly key: SigningKey;
  readonly what: 'Response' | 'Assertion';
  readonly signatureAlgorithm?: string;
  readonly digestAlgorithm?: string;
}

/** The text with a signature behind the issuer of that element. */
export function sign(xml: string, { key, what, ...of }: SignOptions): string {
  const signer = new SignedXml({
    privateKey: key.keyPem,
    publicCert: key.certificatePem,
    signatureAlgorithm:
      of.signatureAlgorithm ?? 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: 'http://www.w3.org/2001/10/xml-exc-c14n#',
  });
  const place = `//*[local-name(.)='${what}']`;
  signer.addReference({
    xpath: place,
    transforms: [
      'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
      'http://www.w3.org/2001/10/xml-exc-c14n#',
    ],
    digestAlgorithm: of.digestAlgorithm ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
  });
  // The schema wants it behind the issuer, which a response may lack.
  const before = what === 'Assertion' ? 'Subject' : 'Status';
  const reference = `${place}/*[local-name(.)='${before}']`;
  signer.computeSignature(xml, { location: { reference, action: 'before' }, prefix: 'ds' });
  return signer.getSignedXml();
}

export type SigningMode = 'response' | 'assertion' | 'both';

/** A response as a provider that signs in this mode sends it. */
export function signedResponse(of: Said, key: SigningKey, mode: SigningMode): string {
  const assertion =
    mode === 'response' ? assertionXml(of) : sign(assertionXml(of), { key, what: 'Assertion' });
  const response = responseXml(of, assertion);
  return mode === 'assertion' ? response : sign(response, { key, what: 'Response' });
}

function time(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}

function attributes(values: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}="${value}"`)
    .join('');
}
