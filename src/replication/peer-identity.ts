/**
 * Mutual authentication of replicas: a shared certificate authority, and a certificate that each
 * replica makes at its start. A peer without one gets no answer.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../apimachinery/index.ts';
import { OWNER_ONLY, replaceFile } from '../auth/index.ts';
import { BACKDATE_MS, DAY_MS, ensureAuthority } from '../tls/index.ts';

/** Name in every replica certificate, whatever its address. */
export const PEER_NAME = 'replica.gitplane.internal';

export interface PeerIdentity {
  /** All of them PEM. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** The same as files, for git. */
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string };
}

const LIFE_DAYS = 3650;

/** Creates the authority if it is absent: only the first leader does. */
export async function ensurePeerAuthority(root: string, clock: Clock): Promise<void> {
  const directory = join(root, 'peers');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await ensureAuthority(directory, clock.now());
}

/** `host`: host name of this replica for its peers, without a port. */
export async function openPeerIdentity(of: {
  readonly root: string;
  readonly host: string;
  readonly clock: Clock;
}): Promise<PeerIdentity> {
  const directory = join(of.root, 'peers');
  const now = of.clock.now();
  const authority = await ensureAuthority(directory, now);
  const { newKeyPem, serverCertificate } = await import('../tls/certificates.ts');
  const key = await newKeyPem();
  const validity = { from: now - BACKDATE_MS, until: now + LIFE_DAYS * DAY_MS };
  const names = [PEER_NAME, of.host];
  const cert = await serverCertificate(authority, {
    keyPem: key,
    names,
    validity,
    forClients: true,
  });
  const files = {
    ca: join(directory, 'ca.crt'),
    cert: join(directory, 'own.crt'),
    key: join(directory, 'own.key'),
  };
  await replaceFile(files.cert, cert, OWNER_ONLY);
  await replaceFile(files.key, key, OWNER_ONLY);
  return { ca: authority.certificatePem, cert, key, files };
}
