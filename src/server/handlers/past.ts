/** Objects of the past, for `get` and rollbacks. Rights are those of the present (`past-filter.ts`). */
import { StatusError } from '../../apimachinery/index.ts';
import { type Past, PastObject, type PastPoint } from '../../history/index.ts';
import type { Kind } from '../../kinds/index.ts';
import type { StoredObject } from '../../state/index.ts';
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
  if (found !== undefined && (filter?.({ key, uid }) ?? true)) {
    refuseUnjudgedSecrets(kind, [found], point);
    return { found, point };
  }
  const hint =
    filter === undefined ? '' : `; who may get every ${kind.plural} is told of earlier ones`;
  throw new StatusError(
    404,
    'NotFound',
    `${kind.plural}.${kind.group} ${JSON.stringify(name)} not found at commit ${point.revision}${hint}`,
    { name, group: kind.group, kind: kind.plural },
  );
}

/**
 * A merge on a forge can bring commits with copies of encrypted values, which a later commit takes back before
 * anybody sees them. Throws 403 if an object has secrets at such a commit.
 */
export function refuseUnjudgedSecrets(
  kind: Kind,
  objects: readonly StoredObject[],
  { broughtBy, revision }: PastPoint,
): void {
  if (broughtBy === undefined) return;
  const secret = objects.find((object) => object instanceof PastObject && object.hasSecrets);
  if (secret === undefined) return;
  const { name } = secret.key;
  throw new StatusError(
    403,
    'Forbidden',
    `${kind.plural}.${kind.group} ${JSON.stringify(name)} has secret values at commit ${revision}, which came with the merge ${broughtBy} and is not on the first-parent line of the followed branch: nobody's rights were checked for it; name that merge, or another commit that GET /commits lists`,
    { name, group: kind.group, kind: kind.plural },
  );
}
