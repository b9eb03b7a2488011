/** An authority, a certificate for etcd's servers and one for its clients, as files. */
import { webcrypto } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import '../../src/tls/reflect-metadata.ts';
import {
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { authorityCertificate, newKeyPem } from '../../src/tls/certificates.ts';

export interface EtcdTls {
  /** Files that a client needs. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly serverCert: string;
  readonly serverKey: string;
  /** What is in the files of the client, as node:https wants it. */
  readonly asClient: { readonly ca: string; readonly cert: string; readonly key: string };
  /** Another pair of the same authority for a client of the name. */
  another(name: string): Promise<{ readonly certificate: string; readonly key: string }>;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const HOUR_MS = 3_600_000;

/** The client is called `root`: etcd takes the common name for the user. */
export async function makeEtcdTls(folder: string): Promise<EtcdTls> {
  mkdirSync(folder, { recursive: true });
  const authorityKey = await newKeyPem();
  const validity = { from: Date.now() - HOUR_MS, until: Date.now() + 24 * HOUR_MS };
  const authority = {
    keyPem: authorityKey,
    certificatePem: await authorityCertificate(authorityKey, 'etcd CA', validity),
  };
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const server = await leaf(authority, 'etcd');
  const client = await leaf(authority, 'root');
  const files = {
    ca: file('ca.crt', authority.certificatePem),
    cert: file('client.crt', client.certificate),
    key: file('client.key', client.key),
    serverCert: file('server.crt', server.certificate),
    serverKey: file('server.key', server.key),
  };
  const { ca, cert, key } = files;
  const read = (path: string): string => readFileSync(path, 'utf8');
  const another = (name: string): ReturnType<typeof leaf> => leaf(authority, name);
  return { ...files, asClient: { ca: read(ca), cert: read(cert), key: read(key) }, another };
}

/** etcd's own gateway shows the server's certificate as a client: both usages. */
async function leaf(
  authority: { readonly certificatePem: string; readonly keyPem: string },
  name: string,
): Promise<{ certificate: string; key: string }> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.create({
    subject: [{ CN: [name] }],
    issuer: new X509Certificate(authority.certificatePem).subjectName,
    notBefore: new Date(Date.now() - HOUR_MS),
    notAfter: new Date(Date.now() + 24 * HOUR_MS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.keyPem),
    extensions: [
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
      new SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        { type: 'dns', value: 'localhost' },
      ]),
    ],
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  return { certificate: `${certificate.toString('pem')}\n`, key: asPem(pkcs8) };
}

function asPem(pkcs8: Buffer): string {
  const lines = pkcs8.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n');
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  return webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, true, ['sign']);
}
