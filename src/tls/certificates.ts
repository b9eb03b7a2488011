/** Certificates as this daemon makes them: ECDSA on P-256, an authority and what it signs. */
import './reflect-metadata.ts';
import { createPrivateKey, type KeyObject, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

export interface Validity {
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
}

export interface Authority {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** A new private key, PKCS #8 PEM. */
export async function newKeyPem(): Promise<string> {
  const { privateKey } = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', privateKey);
  return `${PemConverter.encode(pkcs8, PemConverter.PrivateKeyTag)}\n`;
}

/** A certificate for an authority that signs servers and no further authorities. */
export async function authorityCertificate(
  keyPem: string,
  name: string,
  validity: Validity,
): Promise<string> {
  const keys = await keyPair(keyPem);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: distinguished(name),
    notBefore: new Date(validity.from),
    notAfter: new Date(validity.until),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return pem(certificate);
}

export interface ServerCertificateRequest {
  readonly keyPem: string;
  /** DNS names and IP addresses; the first is also the common name. */
  readonly names: readonly string[];
  readonly validity: Validity;
  /** Also for clients that have to say who they are. */
  readonly forClients?: boolean;
}

export async function serverCertificate(
  authority: Authority,
  { keyPem, names, validity, forClients = false }: ServerCertificateRequest,
): Promise<string> {
  const issuer = new X509Certificate(authority.certificatePem);
  const { publicKey } = await keyPair(keyPem);
  const { privateKey: signingKey } = await keyPair(authority.keyPem);
  const certificate = await X509CertificateGenerator.create({
    subject: distinguished(names[0] ?? ''),
    issuer: issuer.subjectName,
    notBefore: new Date(validity.from),
    notAfter: new Date(validity.until),
    signingAlgorithm: ALGORITHM,
    publicKey,
    signingKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([
        ExtendedKeyUsage.serverAuth,
        ...(forClients ? [ExtendedKeyUsage.clientAuth] : []),
      ]),
      new SubjectAlternativeNameExtension(names.map(generalName)),
      await SubjectKeyIdentifierExtension.create(publicKey),
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return pem(certificate);
}

function generalName(name: string): JsonGeneralName {
  return { type: isIP(name) === 0 ? 'dns' : 'ip', value: name };
}

function distinguished(commonName: string): { CN: string[] }[] {
  return [{ CN: [commonName] }];
}

async function keyPair(keyPem: string): Promise<webcrypto.CryptoKeyPair> {
  const key = createPrivateKey(keyPem);
  const [privateKey, publicKey] = await Promise.all([
    webcrypto.subtle.importKey('pkcs8', der(key), ALGORITHM, true, ['sign']),
    webcrypto.subtle.importKey('jwk', publicJwk(key), ALGORITHM, true, ['verify']),
  ]);
  return { privateKey, publicKey };
}

function der(key: KeyObject): Uint8Array {
  return key.export({ type: 'pkcs8', format: 'der' });
}

function publicJwk(key: KeyObject): webcrypto.JsonWebKey {
  const { d, ...publicPart } = key.export({ format: 'jwk' });
  return publicPart;
}

function pem(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}
