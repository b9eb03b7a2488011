/**
 * Signs commits with the key of the daemon, in this process. One ssh-keygen process per commit would
 * take longer than the write to disk.
 */
import { sign as signBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { SignatureError, SignatureFileError } from './signature-error.ts';
import { parsePrivateKey, type SshPrivateKey } from './ssh-private-key.ts';
import { parsePublicKey, type SshPublicKey } from './ssh-public-key.ts';
import { formatSshSignature, GIT_NAMESPACE, signedBytes } from './ssh-signature.ts';
import { wireInteger, wireString } from './ssh-wire.ts';

export interface CommitSigner {
  readonly publicKey: SshPublicKey;
  /** Returns the value of `gpgsig` for the bytes of a commit without it. */
  sign(payload: Buffer): string;
}

const HASH = 'sha512';
const MAX_FILE_BYTES = 64 * 1024;

/** Throws SignatureFileError with the file and the remedy. */
export async function openCommitSigner(path: string): Promise<CommitSigner> {
  const text = await readPrivate(path);
  try {
    return commitSigner(parsePrivateKey(text));
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    throw new SignatureFileError(
      `Cannot sign commits with ${path}: ${error.message}; make a key with \`ssh-keygen -t ed25519 -N '' -f FILE\``,
      { cause: error },
    );
  }
}

function commitSigner({ type, key, publicKey: blob }: SshPrivateKey): CommitSigner {
  const publicKey = parsePublicKey(blob);
  if (publicKey.type !== type)
    throw new SignatureError('its public and private parts have different types');
  const signRaw = (message: Buffer): Buffer => {
    if (type === 'ssh-rsa') return tagged('rsa-sha2-512', signBytes('sha512', message, key));
    if (type === 'ssh-ed25519') return tagged(type, signBytes(null, message, key));
    const hash = ECDSA_HASHES[type];
    const pair = signBytes(hash, message, { key, dsaEncoding: 'ieee-p1363' });
    const half = pair.length / 2;
    const [r, s] = [pair.subarray(0, half), pair.subarray(half)];
    return tagged(type, Buffer.concat([wireInteger(r), wireInteger(s)]));
  };
  const signer: CommitSigner = {
    publicKey,
    sign: (payload) => {
      const meaning = { namespace: GIT_NAMESPACE, hash: HASH };
      const signature = signRaw(signedBytes(payload, meaning));
      return formatSshSignature({ publicKey: blob, ...meaning, signature });
    },
  };
  const probe = Buffer.from('gitplane');
  if (!publicKey.verify(probe, signRaw(probe))) {
    throw new SignatureError('its public and private parts do not match');
  }
  return signer;
}

const ECDSA_HASHES: Readonly<Record<string, string>> = {
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
};

function tagged(algorithm: string, signature: Buffer): Buffer {
  return Buffer.concat([wireString(algorithm), wireString(signature)]);
}

/** Reads a file that only its owner may access, as ssh requires. */
async function readPrivate(path: string): Promise<string> {
  try {
    const file = await open(path, 'r');
    try {
      const { mode, size } = await file.stat();
      if ((mode & 0o077) !== 0) {
        throw new SignatureFileError(
          `${path} is accessible to other users (mode ${(mode & 0o777).toString(8)}); run \`chmod 600\` on it`,
        );
      }
      if (size > MAX_FILE_BYTES) throw new SignatureFileError(`${path} is too large to be a key`);
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof SignatureFileError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SignatureFileError(`Cannot read the signing key ${path}: ${reason}`, {
      cause: error,
    });
  }
}
