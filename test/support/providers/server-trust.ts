/** A root that nobody has heard of, and the certificate that a server on loopback shows. */
import {
  authorityCertificate,
  newKeyPem,
  serverCertificate,
} from '../../../src/tls/certificates.ts';

export interface ServerTrust {
  /** PEM of the root. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export async function serverTrust(names: readonly string[] = ['localhost']): Promise<ServerTrust> {
  const [caKey, key] = await Promise.all([newKeyPem(), newKeyPem()]);
  const validity = { from: Date.now() - 60_000, until: Date.now() + 86_400_000 };
  const ca = await authorityCertificate(caKey, 'A root of a test', validity);
  const cert = await serverCertificate(
    { certificatePem: ca, keyPem: caKey },
    { keyPem: key, names: [...names], validity },
  );
  return { ca, cert, key };
}
