/**
 * Public keys of SSH and verification with the crypto module of Node, without a process per signature:
 * Ed25519, ECDSA and RSA (RFC 4253, 5656, 8332, 8709), and the two types of hardware tokens (OpenSSH's
 * PROTOCOL.u2f).
 */
import {
  createHash,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  verify as verifyBytes,
} from 'node:crypto';
import { SignatureError } from './signature-error.ts';
import { WireReader } from './ssh-wire.ts';

export interface SshPublicKey {
  /** `ssh-ed25519` and so on. */
  readonly type: string;
  /** Encoded key, as in a `.pub` file before base64. */
  readonly blob: Buffer;
  /** `SHA256:…`, as `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
  /** `signature` is an algorithm and its bytes. Throws SignatureError if it is malformed. */
  verify(message: Buffer, signature: Buffer): boolean;
}

const MIN_RSA_BITS = 2048;

type Verifier = (message: Buffer, signature: WireReader, algorithm: string) => boolean;

/** Throws SignatureError if the bytes are not a key, or its type is not supported. */
export function parsePublicKey(blob: Buffer): SshPublicKey {
  const reader = new WireReader(blob);
  const type = reader.text();
  const read = READERS[type];
  if (read === undefined) throw new SignatureError(unsupported(type));
  const verifier = read(reader);
  reader.end();
  return {
    type,
    blob,
    fingerprint: `SHA256:${createHash('sha256').update(blob).digest('base64').replaceAll('=', '')}`,
    verify: (message, signature) => {
      const parts = new WireReader(signature);
      return verifier(message, parts, parts.text());
    },
  };
}

function unsupported(type: string): string {
  const shown = JSON.stringify(type.slice(0, 60));
  return type.includes('-cert-')
    ? `keys with a certificate (${shown}) are not supported`
    : `keys of type ${shown} are not supported`;
}

const READERS: Readonly<Record<string, (reader: WireReader) => Verifier>> = {
  'ssh-ed25519': (reader) => ed25519(reader, 'ssh-ed25519'),
  'ssh-rsa': rsa,
  'ecdsa-sha2-nistp256': (reader) => ecdsa(reader, 'nistp256'),
  'ecdsa-sha2-nistp384': (reader) => ecdsa(reader, 'nistp384'),
  'ecdsa-sha2-nistp521': (reader) => ecdsa(reader, 'nistp521'),
  'sk-ssh-ed25519@openssh.com': (reader) => {
    const key = ed25519Key(reader);
    return withToken(reader, 'sk-ssh-ed25519@openssh.com', (message, signature) =>
      verifyBytes(null, message, key, signature),
    );
  },
  'sk-ecdsa-sha2-nistp256@openssh.com': (reader) => {
    const { key, verify } = ecdsaKey(reader, 'nistp256');
    return withToken(reader, 'sk-ecdsa-sha2-nistp256@openssh.com', (message, signature) =>
      verify(message, key, signature),
    );
  },
};

function ed25519(reader: WireReader, type: string): Verifier {
  const key = ed25519Key(reader);
  return (message, signature, algorithm) => {
    assertAlgorithm(algorithm, [type]);
    const bytes = signature.string();
    signature.end();
    return verifyBytes(null, message, key, bytes);
  };
}

function ed25519Key(reader: WireReader): KeyObject {
  return importKey({ kty: 'OKP', crv: 'Ed25519', x: reader.string().toString('base64url') });
}

interface Curve {
  readonly crv: string;
  readonly hash: string;
  /** Length of a coordinate in bytes. */
  readonly size: number;
}

const CURVES: Readonly<Record<string, Curve>> = {
  nistp256: { crv: 'P-256', hash: 'sha256', size: 32 },
  nistp384: { crv: 'P-384', hash: 'sha384', size: 48 },
  nistp521: { crv: 'P-521', hash: 'sha512', size: 66 },
};

/** Names of a curve in JWK, its hash, and the length of a coordinate. */
export function curveOf(name: string): Curve {
  const curve = CURVES[name];
  if (curve === undefined) throw new SignatureError(`its curve ${name} is not supported`);
  return curve;
}

function ecdsa(reader: WireReader, name: string): Verifier {
  const { key, verify } = ecdsaKey(reader, name);
  return (message, signature, algorithm) => {
    assertAlgorithm(algorithm, [`ecdsa-sha2-${name}`]);
    const bytes = signature.string();
    signature.end();
    return verify(message, key, bytes);
  };
}

function ecdsaKey(reader: WireReader, name: string) {
  const { crv, hash, size } = curveOf(name);
  if (reader.text() !== name) throw new SignatureError('its curve is not that of its type');
  const point = reader.string();
  if (point.length !== 1 + 2 * size || point[0] !== 4) {
    throw new SignatureError('it does not contain an uncompressed point of its curve');
  }
  const [x, y] = [point.subarray(1, 1 + size), point.subarray(1 + size)];
  const key = importKey({
    kty: 'EC',
    crv,
    x: x.toString('base64url'),
    y: y.toString('base64url'),
  });
  const verify = (message: Buffer, verifying: KeyObject, signature: Buffer): boolean => {
    const parts = new WireReader(signature);
    const pair = [parts.integer(), parts.integer()].map((part) => padded(part, size));
    parts.end();
    return verifyBytes(
      hash,
      message,
      { key: verifying, dsaEncoding: 'ieee-p1363' },
      Buffer.concat(pair),
    );
  };
  return { key, verify };
}

function rsa(reader: WireReader): Verifier {
  const [e, n] = [reader.integer(), reader.integer()];
  if (n.length * 8 < MIN_RSA_BITS) {
    throw new SignatureError(`RSA keys below ${MIN_RSA_BITS} bits are not supported`);
  }
  const key = importKey({
    kty: 'RSA',
    n: n.toString('base64url'),
    e: e.toString('base64url'),
  });
  return (message, signature, algorithm) => {
    assertAlgorithm(algorithm, ['rsa-sha2-512', 'rsa-sha2-256']);
    const bytes = signature.string();
    signature.end();
    const hash = algorithm === 'rsa-sha2-512' ? 'sha512' : 'sha256';
    return verifyBytes(hash, message, key, padded(bytes, n.length));
  };
}

/** A hardware token signs the application, its flags, a counter of its uses, and a digest. */
function withToken(
  reader: WireReader,
  type: string,
  verify: (message: Buffer, signature: Buffer) => boolean,
): Verifier {
  const application = sha256(reader.string());
  return (message, signature, algorithm) => {
    assertAlgorithm(algorithm, [type]);
    const bytes = signature.string();
    const flagsAndCounter = signature.take(5);
    signature.end();
    return verify(Buffer.concat([application, flagsAndCounter, sha256(message)]), bytes);
  };
}

function assertAlgorithm(algorithm: string, allowed: readonly string[]): void {
  if (allowed.includes(algorithm)) return;
  throw new SignatureError(
    `its algorithm ${JSON.stringify(algorithm.slice(0, 60))} is not supported`,
  );
}

function importKey(key: JsonWebKey): KeyObject {
  try {
    return createPublicKey({ key, format: 'jwk' });
  } catch (error) {
    throw new SignatureError('its key is invalid', { cause: error });
  }
}

function padded(bytes: Buffer, size: number): Buffer {
  if (bytes.length > size) throw new SignatureError('a number in it is too large');
  return Buffer.concat([Buffer.alloc(size - bytes.length), bytes]);
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}
