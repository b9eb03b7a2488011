/**
 * Signatures in the format of `ssh-keygen -Y sign` (OpenSSH's PROTOCOL.sshsig). Stricter than ssh-keygen:
 * a signature is one block without surrounding data.
 */
import { createHash } from 'node:crypto';
import { SignatureError } from './signature-error.ts';
import { uint32, WireReader, wireString } from './ssh-wire.ts';

/** Namespace of the commit signatures of git. */
export const GIT_NAMESPACE = 'git';

export const SSH_ARMOR = '-----BEGIN SSH SIGNATURE-----';
const ARMOR_END = '-----END SSH SIGNATURE-----';
const MAGIC = 'SSHSIG';
const VERSION = 1;
const LINE = 70;

export interface SshSignature {
  /** Key that the signature claims to be made with. */
  readonly publicKey: Buffer;
  readonly namespace: string;
  readonly hash: string;
  /** Algorithm and signature bytes. */
  readonly signature: Buffer;
}

/** Throws SignatureError if the text is not exactly one signature. */
export function parseSshSignature(text: string): SshSignature {
  const reader = new WireReader(dearmor(text));
  if (reader.take(MAGIC.length).toString('latin1') !== MAGIC) {
    throw new SignatureError('it does not have the prefix of an SSH signature');
  }
  const version = reader.uint32();
  if (version !== VERSION) throw new SignatureError(`its version ${version} is not supported`);
  const publicKey = reader.string();
  const namespace = reader.text();
  // The reserved field is not part of the signed bytes, and no use is defined for it.
  if (reader.string().length > 0) throw new SignatureError('its reserved field is not empty');
  const hash = reader.text();
  if (hash !== 'sha512' && hash !== 'sha256') {
    throw new SignatureError(`its hash ${JSON.stringify(hash.slice(0, 60))} is not supported`);
  }
  const signature = reader.string();
  reader.end();
  return { publicKey, namespace, hash, signature };
}

function dearmor(text: string): Buffer {
  const lines = text.trimEnd().split('\n');
  if (lines[0] !== SSH_ARMOR || lines.at(-1) !== ARMOR_END) {
    throw new SignatureError('it is incomplete, or surrounded by other data');
  }
  const base64 = lines.slice(1, -1).join('');
  const bytes = Buffer.from(base64, 'base64');
  // Node skips invalid characters, so that one signature could have several spellings.
  if (bytes.toString('base64') !== base64) throw new SignatureError('it is not base64');
  return bytes;
}

/** Bytes that the key signs: the namespace and the digest of the message. */
export function signedBytes(
  message: Buffer,
  { namespace, hash }: Pick<SshSignature, 'namespace' | 'hash'>,
): Buffer {
  return Buffer.concat([
    Buffer.from(MAGIC),
    wireString(namespace),
    wireString(''),
    wireString(hash),
    wireString(createHash(hash).update(message).digest()),
  ]);
}

export function formatSshSignature({
  publicKey,
  namespace,
  hash,
  signature,
}: SshSignature): string {
  const base64 = Buffer.concat([
    Buffer.from(MAGIC),
    uint32(VERSION),
    wireString(publicKey),
    wireString(namespace),
    wireString(''),
    wireString(hash),
    wireString(signature),
  ]).toString('base64');
  const lines = [SSH_ARMOR];
  for (let at = 0; at < base64.length; at += LINE) lines.push(base64.slice(at, at + LINE));
  return [...lines, ARMOR_END, ''].join('\n');
}
