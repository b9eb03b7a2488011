/** The key pair that signs endpoint tokens: one PKCS #8 PEM file, made when it is not there. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, type JWK } from 'jose';
import { createFile, readIfThere } from './secret-file.ts';

const CURVE = 'P-256';
/** What node calls P-256. */
const CURVE_OF_KEY = 'prime256v1';

export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** RFC 7638 thumbprint of the public key. */
  readonly kid: string;
  readonly publicJwk: JWK;
}

/** Throws when the file holds something else, with its path and what to do. */
export async function openSigningKey(path: string): Promise<SigningKey> {
  let pem = await readIfThere(path);
  if (pem === undefined) {
    await createFile(path, newKey());
    pem = await readIfThere(path);
  }
  return signingKey(parse(path, pem ?? ''));
}

function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: CURVE });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Throws when the file exists. */
export async function createSigningKey(path: string): Promise<SigningKey> {
  const pem = newKey();
  if (!(await createFile(path, pem))) throw new Error(`${path} exists already`);
  return await signingKey(parse(path, pem));
}

async function signingKey(privateKey: KeyObject): Promise<SigningKey> {
  const publicKey = createPublicKey(privateKey);
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  return { privateKey, publicKey, kid, publicJwk: { ...jwk, kid, alg: 'ES256', use: 'sig' } };
}

function parse(path: string, pem: string): KeyObject {
  const remedy =
    'restore it from a backup, or remove it to get a new one: tokens signed with the old one end then';
  const problem = `${path} is not a private key for ES256 (PKCS #8 PEM, curve ${CURVE}); ${remedy}`;
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (error) {
    throw new Error(problem, { cause: error });
  }
  const isRight = key.asymmetricKeyDetails?.namedCurve === CURVE_OF_KEY;
  if (key.asymmetricKeyType !== 'ec' || !isRight) throw new Error(problem);
  return key;
}
