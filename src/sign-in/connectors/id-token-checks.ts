/** Checks of a verified ID token that the libraries omit (OpenID Connect Core, 3.1.3). */
import { createHash } from 'node:crypto';
import { decodeProtectedHeader, type JWTPayload } from 'jose';

/** Cache time of a provider's keys: a withdrawn key verifies nothing after it. */
export const KEYS_LIVE_MS = 60_000;

/** Tolerated difference between the clocks of the provider and this machine. */
const LEEWAY_SECONDS = 60;

/** `alg` of a signature → its hash; Ed25519 uses SHA-512 within. */
const HASHES: readonly (readonly [RegExp, string])[] = [
  [/256$/, 'sha256'],
  [/384$/, 'sha384'],
  [/512$|^Ed/, 'sha512'],
];

/** Problem of the claims, which repeats none of them; undefined: there is none. */
export function idTokenProblem(
  { iat, at_hash: atHash }: JWTPayload,
  of: {
    readonly idToken: string;
    readonly accessToken: string;
    /** Unix time in ms. */
    readonly now: number;
  },
): string | undefined {
  if (iat === undefined || iat * 1000 > of.now + LEEWAY_SECONDS * 1000) {
    return 'it was issued in the future; check the clocks here and at the provider';
  }
  if (atHash === undefined || atHash === hashOf(of.accessToken, of.idToken)) return undefined;
  return 'its at_hash is that of another access token';
}

/** The left half of the hash, by the algorithm of the signature. */
function hashOf(accessToken: string, idToken: string): string | undefined {
  const { alg = '' } = decodeProtectedHeader(idToken);
  const hash = HASHES.find(([algorithms]) => algorithms.test(alg))?.[1];
  if (hash === undefined) return undefined;
  const digest = createHash(hash).update(accessToken, 'ascii').digest();
  return digest.subarray(0, digest.length / 2).toString('base64url');
}
