/**
 * Headers of every response below `/auth`, which must not be cached, framed or leaked as a referrer. The
 * configuration may add and replace headers, but not those of the protocol.
 */
import type { FastifyReply } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';

/** Policy that allows no resources, scripts or forms. */
export const STRICT_CSP =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function signInHeaders(deps: Pick<ServerDependencies, 'config'>, reply: FastifyReply): void {
  void reply.headers({
    'cache-control': 'no-store',
    'content-security-policy': STRICT_CSP,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  });
  configuredHeaders(deps, reply);
}

/** Only the headers of `auth.customHttpHeaders`. */
export function configuredHeaders(
  { config }: Pick<ServerDependencies, 'config'>,
  reply: FastifyReply,
): void {
  void reply.headers(config.current.auth.customHttpHeaders ?? {});
}
