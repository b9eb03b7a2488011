/** A cluster that knows its clients by their certificates, as most do out of the box. */
import '../../src/tls/reflect-metadata.ts';
import { webcrypto } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { PemConverter, X509CertificateGenerator } from '@peculiar/x509';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { accessFromKubeconfig } from '../../src/kubernetes-client/cluster-access.ts';
import { KubeClient } from '../../src/kubernetes-client/kube-client.ts';
import { ensureServerCertificate } from '../../src/tls/server-certificate.ts';

interface Pair {
  readonly certificate: string;
  readonly key: string;
}

let directory: string;
let server: Server;
let ca: string;
let sync: Pair;
let stranger: Pair;

async function clientPair(name: string): Promise<Pair> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const made = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    signingAlgorithm: algorithm,
    keys,
  });
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  const key = PemConverter.encode(pkcs8, PemConverter.PrivateKeyTag);
  return { certificate: made.toString('pem'), key };
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mtls-'));
  const hostnames = ['kube.example'];
  const own = await ensureServerCertificate({ directory, hostnames, clock: Date });
  ca = own.caPem;
  [sync, stranger] = await Promise.all([clientPair('sync'), clientPair('stranger')]);
  const { certificatePem: cert, keyPem: key } = own;
  const tls = { cert, key, ca: [sync.certificate], requestCert: true, rejectUnauthorized: true };
  server = createServer(tls, (request, response) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    const { authorization } = request.headers;
    response.end(JSON.stringify({ metadata: { name: subject.CN }, authorization }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true });
});

function kubeconfig(pair: Pair | undefined, cluster: object = {}): string {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const { port } = server.address() as AddressInfo;
  const user =
    pair === undefined
      ? { token: 't' }
      : {
          'client-certificate-data': encode(pair.certificate),
          'client-key-data': encode(pair.key),
        };
  return stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `https://127.0.0.1:${port}`,
          'certificate-authority-data': encode(ca),
          ...cluster,
        },
      },
    ],
    users: [{ name: 'u', user }],
  });
}

async function asked(text: string): Promise<unknown> {
  const client = new KubeClient(accessFromKubeconfig(text));
  try {
    return await client.get({ plural: 'namespaces', name: 'default' });
  } finally {
    client.close();
  }
}

test('is reached with the certificate of the kubeconfig, and without any token', async () => {
  expect(await asked(kubeconfig(sync))).toEqual({ metadata: { name: 'sync' } });
});

test('is reached under another name, where the kubeconfig says which', async () => {
  const named = kubeconfig(sync, { 'tls-server-name': 'kube.example' });
  expect(await asked(named)).toEqual({ metadata: { name: 'sync' } });
  const wrong = kubeconfig(sync, { 'tls-server-name': 'other.example' });
  await expect(asked(wrong)).rejects.toMatchObject({ reason: 'Unreachable', code: 0 });
});

test.each<[string, () => string]>([
  ['without a certificate', () => kubeconfig(undefined)],
  ['with that of somebody else', () => kubeconfig(stranger)],
  [
    'whose own certificate is of another authority',
    () =>
      kubeconfig(sync, {
        'certificate-authority-data': Buffer.from(stranger.certificate).toString('base64'),
      }),
  ],
])('is not reached %s, and no message has a key in it', async (_how, text) => {
  const error = await asked(text()).catch((found: unknown) => found as Error);

  expect(error).toMatchObject({ reason: 'Unreachable' });
  expect(String((error as Error).message)).not.toContain('PRIVATE');
});
