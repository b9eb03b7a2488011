/** Private keys in the format of `ssh-keygen` (OpenSSH's PROTOCOL.key), without a passphrase. */
import { createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { SignatureError } from './signature-error.ts';
import { curveOf } from './ssh-public-key.ts';
import { WireReader } from './ssh-wire.ts';

export interface SshPrivateKey {
  readonly type: string;
  readonly key: KeyObject;
  /** Encoded public key. */
  readonly publicKey: Buffer;
}

const ARMOR =
  /^-----BEGIN OPENSSH PRIVATE KEY-----\n([\s\S]*?)\n-----END OPENSSH PRIVATE KEY-----\s*$/;
const MAGIC = 'openssh-key-v1\0';

/** Throws SignatureError with the problem; the message never contains a part of the key. */
export function parsePrivateKey(text: string): SshPrivateKey {
  const armored = ARMOR.exec(text.replaceAll('\r\n', '\n'))?.[1];
  if (armored === undefined) throw new SignatureError('it is not a private key of OpenSSH');
  const reader = new WireReader(Buffer.from(armored, 'base64'));
  if (reader.take(MAGIC.length).toString('latin1') !== MAGIC) {
    throw new SignatureError('it is not a private key of OpenSSH');
  }
  const [cipher, kdf] = [reader.text(), reader.text()];
  reader.string(); // options of the key derivation
  if (cipher !== 'none' || kdf !== 'none') {
    throw new SignatureError('it has a passphrase, which the daemon cannot enter');
  }
  if (reader.uint32() !== 1) throw new SignatureError('it contains several keys');
  const publicKey = reader.string();
  const secret = new WireReader(reader.string());
  // The same number twice. After a wrong decryption the two would differ.
  const [one, other] = [secret.uint32(), secret.uint32()];
  if (one !== other) throw new SignatureError('it is damaged');
  const type = secret.text();
  return { type, key: importKey(type, secret), publicKey };
}

function importKey(type: string, secret: WireReader): KeyObject {
  const jwk = readJwk(type, secret);
  const key = tryImport(jwk);
  if (key === undefined) throw new SignatureError('it is damaged');
  return key;
}

/** Errors of Node could quote the key, so they are dropped. */
function tryImport(key: JsonWebKey): KeyObject | undefined {
  try {
    return createPrivateKey({ key, format: 'jwk' });
  } catch {
    return undefined;
  }
}

function readJwk(type: string, secret: WireReader): JsonWebKey {
  if (type === 'ssh-ed25519') {
    const x = secret.string();
    const d = secret.string().subarray(0, 32);
    return { kty: 'OKP', crv: 'Ed25519', x: text(x), d: text(d) };
  }
  if (type === 'ssh-rsa') return readRsa(secret);
  if (type.startsWith('ecdsa-sha2-')) {
    const { crv, size } = curveOf(secret.text());
    const point = secret.string();
    const d = secret.integer();
    return {
      kty: 'EC',
      crv,
      x: text(point.subarray(1, 1 + size)),
      y: text(point.subarray(1 + size)),
      d: text(Buffer.concat([Buffer.alloc(Math.max(size - d.length, 0)), d])),
    };
  }
  throw new SignatureError(`keys of type ${JSON.stringify(type.slice(0, 60))} are not supported`);
}

function readRsa(secret: WireReader): JsonWebKey {
  const [n, e, d, qi, p, q] = Array.from({ length: 6 }, () => secret.integer()) as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ];
  const reduced = (prime: Buffer): string => {
    const hex = (number(d) % (number(prime) - 1n)).toString(16);
    return text(Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex'));
  };
  return {
    kty: 'RSA',
    n: text(n),
    e: text(e),
    d: text(d),
    p: text(p),
    q: text(q),
    dp: reduced(p),
    dq: reduced(q),
    qi: text(qi),
  };
}

function number(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex') || '0'}`);
}

function text(bytes: Buffer): string {
  return bytes.toString('base64url');
}
