/**
 * Headers of every answer below `/auth`: nothing of it is kept, framed or told to others. The
 * configuration adds its own, and may replace these; those of the protocol it cannot name.
 */
import type { FastifyReply } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';

/** Nothing is loaded, nothing runs, and forms lead nowhere. */
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

/** Those of the configuration alone: `auth.customHttpHeaders`. */
export function configuredHeaders(
  { config }: Pick<ServerDependencies, 'config'>,
  reply: FastifyReply,
): void {
  void reply.headers(config.current.auth.customHttpHeaders ?? {});
}
