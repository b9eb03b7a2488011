/** A key pair that signs tokens: one PKCS #8 PEM file, created on first use. */
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, exportJWK, type JWK } from 'jose';
import { createFile, readIfThere } from '../secret-file.ts';

export type SigningAlgorithm = 'ES256' | 'RS256';

const CURVE = 'P-256';
/** Name of P-256 in Node. */
const CURVE_OF_KEY = 'prime256v1';
const RSA_BITS = 2048;

export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** RFC 7638 thumbprint of the public key. */
  readonly kid: string;
  readonly publicJwk: JWK;
}

/** Throws with path and remedy when the file holds anything else. */
export async function openSigningKey(
  path: string,
  algorithm: SigningAlgorithm = 'ES256',
): Promise<SigningKey> {
  const present = await readSigningKey(path, algorithm);
  if (present !== undefined) return present;
  await createFile(path, await newKey(algorithm));
  const pem = await readIfThere(path);
  return signingKey(parse(path, pem ?? '', algorithm), algorithm);
}

/** Undefined: there is no file. Throws when it holds anything else. */
export async function readSigningKey(
  path: string,
  algorithm: SigningAlgorithm = 'ES256',
): Promise<SigningKey | undefined> {
  const pem = await readIfThere(path);
  return pem === undefined ? undefined : await signingKey(parse(path, pem, algorithm), algorithm);
}

const generate = promisify(generateKeyPair);

async function newKey(algorithm: SigningAlgorithm): Promise<string> {
  const { privateKey } =
    algorithm === 'ES256'
      ? await generate('ec', { namedCurve: CURVE })
      : await generate('rsa', { modulusLength: RSA_BITS });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Throws when the file exists. */
export async function createSigningKey(
  path: string,
  algorithm: SigningAlgorithm = 'ES256',
): Promise<SigningKey> {
  const pem = await newKey(algorithm);
  if (!(await createFile(path, pem))) throw new Error(`${path} exists already`);
  return await signingKey(parse(path, pem, algorithm), algorithm);
}

async function signingKey(privateKey: KeyObject, alg: SigningAlgorithm): Promise<SigningKey> {
  const publicKey = createPublicKey(privateKey);
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  return { privateKey, publicKey, kid, publicJwk: { ...jwk, kid, alg, use: 'sig' } };
}

const SHAPES: Readonly<Record<SigningAlgorithm, string>> = {
  ES256: `curve ${CURVE}`,
  RS256: `RSA, ${RSA_BITS} bits or more`,
};

function parse(path: string, pem: string, algorithm: SigningAlgorithm): KeyObject {
  const remedy =
    'restore it from a backup, or remove it to get a new one: tokens signed with the old one end then';
  const shape = `PKCS #8 PEM, ${SHAPES[algorithm]}`;
  const problem = `${path} is not a private key for ${algorithm} (${shape}); ${remedy}`;
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (error) {
    throw new Error(problem, { cause: error });
  }
  if (!isFor(algorithm, key)) throw new Error(problem);
  return key;
}

function isFor(algorithm: SigningAlgorithm, key: KeyObject): boolean {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  return algorithm === 'ES256'
    ? key.asymmetricKeyType === 'ec' && namedCurve === CURVE_OF_KEY
    : key.asymmetricKeyType === 'rsa' && modulusLength >= RSA_BITS;
}
