/** POST: creates an object. */

import type { KubeObject } from '../../apimachinery/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { KIND_MESSAGES } from '../input/kind-messages.ts';
import { decodeTypedBody } from '../input/typed-body.ts';
import type { Answer } from '../output/answer.ts';
import { header, type ResourceRequest } from '../request.ts';
import { answerForm, createdAnswer, timed, writeOptions } from './shared.ts';

export async function handleCreate(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  // Negotiates before the write: an answer that the client does not accept must not follow a write.
  answerForm(deps, request, 'object');
  const options = writeOptions(deps, request, 'create');
  const { kind, info } = request;
  const type = header(request, 'content-type');
  const message = KIND_MESSAGES.get(kind);
  const { value: body, duplicates } = decodeTypedBody(request.body, type, message);
  const { namespace } = info;
  const result = await timed(
    deps,
    deps.registry.create({ kind, namespace, body, duplicates, options }),
  );
  const warnings = [...result.warnings, ...lifeWarnings(deps, request, result.object)];
  return createdAnswer(deps, request, { ...result, warnings });
}

/** Warns that the configured maximum ends a key before its own TTL. */
function lifeWarnings(
  deps: ServerDependencies,
  { kind }: ResourceRequest,
  key: KubeObject,
): string[] {
  const { accessKeyMaxTTLSeconds: most = 0 } = deps.config.current.auth;
  if (!kind.isKey || most === 0) return [];
  const { ttl, ttlAfterLastActivity } = key.spec ?? {};
  const within = typeof ttl === 'number' && ttl > 0 && ttl <= most;
  if (within && ttlAfterLastActivity !== true) return [];
  return [`spec.ttl: the key ends ${most} seconds after it was made, the maximum of this platform`];
}
