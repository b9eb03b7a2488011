/** Objects of the past, for `get` and rollbacks. Rights are those of the present (`past-filter.ts`). */
import { StatusError } from '../../apimachinery/index.ts';
import type { Past, PastObject, PastPoint } from '../../history/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { pastFilter } from '../past-filter.ts';
import type { ResourceRequest } from '../request.ts';

/** Header with the commit of the answer. */
export const REVISION_HEADER = 'gitplane-revision';

/** Throws 404, with the same text for missing objects and hidden ones. */
export async function pastObject(
  deps: ServerDependencies,
  request: ResourceRequest,
  past: Past,
): Promise<{ readonly found: PastObject; readonly point: PastPoint }> {
  const { kind, info } = request;
  const { namespace, name } = info;
  const key = { group: kind.group, kind: kind.kind, namespace, name };
  const point = await deps.history.find(past);
  const found = await deps.history.objectAt(kind, key, point);
  const filter = pastFilter(deps, request);
  const uid = found?.source.identity.uid;
  if (found !== undefined && (filter?.({ key, uid }) ?? true)) return { found, point };
  const hint =
    filter === undefined ? '' : `; who may get every ${kind.plural} is told of earlier ones`;
  throw new StatusError(
    404,
    'NotFound',
    `${kind.plural}.${kind.group} ${JSON.stringify(name)} not found at commit ${point.revision}${hint}`,
    { name, group: kind.group, kind: kind.plural },
  );
}
