/** Signs ID tokens as a provider does, and as an impostor does. */
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

export interface Issuer {
  readonly jwks: { readonly keys: object[] };
  sign(claims: JWTPayload, header?: object): Promise<string>;
}

export async function newIssuer(kid = 'key-1', alg = 'RS256'): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
  return {
    jwks: { keys: [jwk] },
    sign: (claims, header = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg, kid, typ: 'JWT', ...header }).sign(privateKey),
  };
}
