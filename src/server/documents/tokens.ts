/**
 * Documents for verifiers of endpoint tokens: keys, discovery (OpenID Connect Discovery 1.0, section 4)
 * and the list of revoked tokens; and the revocation of a token (RFC 7009).
 */
import { badRequest, isRecord, noSuchRoute, type User } from '../../apimachinery/index.ts';
import { decodeBody } from '../input/body.ts';
import { type Answer, jsonAnswer } from '../output/answer.ts';
import type { ApiRequest } from '../request.ts';

/** Content of the documents; the issuer of the tokens makes it. */
export interface TokenDocuments {
  /** The base URL that tokens name as their issuer. */
  readonly issuer: string;
  jwks(): object;
  /** `expiresAt` in milliseconds since the epoch. */
  revocations(): readonly { readonly id: string; readonly expiresAt: number }[];
  /** Revokes a token by its text. Throws StatusError for foreign tokens. */
  revoke(token: string): Promise<void>;
  /** Revokes a token by its id. Throws 403 unless the user may delete endpoint tokens. */
  revokeById(id: string, user: User): Promise<void>;
}

export const JWKS_PATH = '/.well-known/jwks.json';
export const OPENID_PATH = '/.well-known/openid-configuration';
export const REVOCATIONS_PATH = '/token/revocations';
export const REVOKE_PATH = '/token/revoke';

/** Verifiers may keep the keys this long; the next key is published for longer before it is used. */
const CACHED = { 'cache-control': 'public, max-age=300' };

const MOST_BYTES = 64 * 1024;

export function tokenDocuments(tokens: TokenDocuments) {
  return (request: ApiRequest): Answer | undefined | Promise<Answer> => {
    const { path } = request.info;
    switch (path) {
      case JWKS_PATH:
        return { ...jsonAnswer(tokens.jwks()), headers: CACHED };
      case OPENID_PATH:
        return { ...jsonAnswer(discoveryOf(tokens.issuer)), headers: CACHED };
      case REVOCATIONS_PATH:
        return jsonAnswer(revocationList(tokens));
      case REVOKE_PATH:
        return revoke(tokens, request);
      default:
        return undefined;
    }
  };
}

/** The part that a Kubernetes API server reads of its issuer. */
function discoveryOf(issuer: string): object {
  return {
    issuer,
    jwks_uri: `${issuer}${JWKS_PATH}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  };
}

function revocationList(tokens: TokenDocuments): object {
  return {
    revoked: tokens.revocations().map(({ id, expiresAt }) => ({
      jti: id,
      exp: Math.ceil(expiresAt / 1000),
    })),
  };
}

async function revoke(tokens: TokenDocuments, { info, body, user }: ApiRequest): Promise<Answer> {
  if (info.verb !== 'post') throw noSuchRoute();
  const { value } = decodeBody(body, 'json', MOST_BYTES);
  const { token, jti } = isRecord(value) ? value : {};
  if (typeof token === 'string') await tokens.revoke(token);
  else if (typeof jti === 'string' && jti !== '' && user !== undefined) {
    await tokens.revokeById(jti, user);
  } else throw badRequest('the body must be {"token": "…"} or {"jti": "…"}');
  return jsonAnswer({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' });
}
