/**
 * `/oidc`: the built-in OpenID provider, which answers its requests itself. This file has its routes,
 * its switch and the audit record of each request.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { networksOf } from '../../auth/index.ts';
import type { Handled } from '../../oidc-server/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { beginAudit } from '../filters/audit.ts';
import { limitBody } from '../filters/hardening.ts';
import { closeRefused } from '../http2.ts';
import type { PathInfo } from '../input/request-info.ts';
import { OIDC_PATH } from '../paths.ts';
import { configuredHeaders } from '../sign-in/headers.ts';

/** RFC 8414 appends the path of the issuer to this one. */
const METADATA = '/.well-known/oauth-authorization-server';

export function registerOidc(app: FastifyInstance, deps: ServerDependencies): void {
  void app.register((own, _options, done) => {
    // Bodies stay unread: the provider reads them.
    own.removeAllContentTypeParsers();
    own.addContentTypeParser('*', (_request, _body, read) => read(null));
    const config = { ownAccess: true };
    own.route({
      method: ['GET', 'POST', 'OPTIONS'],
      url: `${OIDC_PATH}/*`,
      config,
      handler: (request, reply) =>
        answer(deps, request, reply, request.url.slice(OIDC_PATH.length)),
    });
    own.route({
      method: ['GET', 'OPTIONS'],
      url: `${METADATA}${OIDC_PATH}`,
      config,
      handler: (request, reply) => answer(deps, request, reply, METADATA),
    });
    done();
  });
}

async function answer(
  deps: ServerDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
): Promise<FastifyReply> {
  const { oidc } = deps;
  // Headers of the protocol are set later and win.
  configuredHeaders(deps, reply);
  // The route also matches a path with escapes, which the provider does not.
  if (!oidc.isOn || !path.startsWith('/')) {
    return reply.code(404).header('content-type', 'text/plain').send('404 page not found\n');
  }
  limitBody(request.raw);
  const trail = beginAudit(deps, {
    request,
    info: infoOf(request),
    user: oidc.userOf(request.raw),
  });
  void reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  const raw = reply.raw;
  const handled = await oidc.handle(request.raw, raw, {
    id: request.id,
    path,
    networks: networksOf(request.ip),
  });
  trail?.ended({ code: raw.statusCode, annotations: annotationsOf(handled) });
  if (request.raw.errored !== null) closeRefused(request.raw);
  return reply;
}

function infoOf({ url, method }: FastifyRequest): PathInfo {
  const [path = '', query] = url.split('?');
  const verb = method.toLowerCase();
  return { isResource: false, path, belowRoot: false, query: new URLSearchParams(query), verb };
}

function annotationsOf({ client, person }: Handled): Record<string, string> {
  return {
    ...(client === undefined ? {} : { 'oidc-client': client }),
    ...(person === undefined ? {} : { 'oidc-user': person }),
  };
}
