/**
 * Answer to a dry run with `show`: the file that the write would leave, and the objects that it would
 * change. The file takes the right to clone, which shows the same.
 */
import { badRequest } from '../../apimachinery/index.ts';
import type { PlanChange } from '../../history/index.ts';
import { apiVersionOf } from '../../kinds/index.ts';
import { type Preview, shownObject, type WriteResult } from '../../registry/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { authorizeRequest } from '../filters/access.ts';
import type { Answer } from '../output/answer.ts';
import { type AnswerForm, encodeDocument, type ReadyObject } from '../output/representation.ts';
import { Visibility } from '../overview/visibility.ts';
import { GIT_PATH } from '../paths.ts';
import type { ResourceRequest } from '../request.ts';

const PREVIEWS: readonly Preview[] = ['file', 'effect'];

/** `show=file,effect` of a dry run. Throws 400 for other words. */
export function previewsOf({ info }: Pick<ResourceRequest, 'info'>): Preview[] {
  const asked = info.query.get('show');
  if (!asked || info.query.get('dryRun') !== 'All') return [];
  return asked.split(',').map((word) => {
    const found = PREVIEWS.find((preview) => preview === word);
    if (found === undefined) {
      throw badRequest(`show takes ${PREVIEWS.join(' and ')}, and not ${JSON.stringify(word)}`);
    }
    return found;
  });
}

/** Throws 403 without the right to clone, and for an effect without the right to get the object. */
export async function previewAnswer(
  deps: ServerDependencies,
  request: ResourceRequest,
  of: { result: WriteResult; ready: ReadyObject; form: AnswerForm; code: number },
): Promise<Answer> {
  const { result, ready, form, code } = of;
  const { kind } = request;
  const asked = previewsOf(request);
  const document = {
    kind: 'WritePreview',
    apiVersion: apiVersionOf(kind),
    ...(asked.includes('file') ? fileOf(deps, request, result) : {}),
    ...(asked.includes('effect') ? { effect: await effectOf(deps, request, result) } : {}),
    object: shownObject(kind, ready),
  };
  return { code, warnings: result.warnings, ...encodeDocument(document, form) };
}

function fileOf(deps: ServerDependencies, { user }: ResourceRequest, { file }: WriteResult) {
  authorizeRequest(deps, user, { verb: 'get', path: GIT_PATH });
  return { path: file?.path ?? null, before: file?.before ?? null, after: file?.after ?? null };
}

/** The changes that the user may see; `hidden` counts the others. */
async function effectOf(
  deps: ServerDependencies,
  { kind, user, info }: ResourceRequest,
  { effect, object }: WriteResult,
) {
  const name = info.name || (object.metadata.name ?? '');
  const { namespace } = info;
  if (info.name !== '') {
    const resource = { group: kind.group, resource: kind.plural, namespace, name };
    authorizeRequest(deps, user, { verb: 'get', ...resource });
  }
  const isOwn = (change: PlanChange): boolean =>
    change.kind === kind.kind && change.name === name && (change.namespace ?? '') === namespace;
  const visibility = new Visibility(deps, user);
  const maySee = ({ apiVersion, kind: of, namespace: at = '', name: one }: Named): boolean => {
    const found = deps.kinds.byKind(apiVersion, of);
    return found !== undefined && visibility.maySee(found, { namespace: at, name: one });
  };
  const all = effect === undefined ? [] : await deps.planner.changesOf(effect, user);
  const visible = all.filter((change) => isOwn(change) || maySee(change));
  let hidden = all.length - visible.length;
  const changes = visible.map((change): PlanChange => {
    const { derived, ...rest } = change;
    if (derived === undefined) return change;
    const items = derived.items.filter(maySee);
    hidden += derived.items.length - items.length;
    const count = derived.count - (derived.items.length - items.length);
    return { ...rest, derived: { count, items } };
  });
  return { changes, hidden };
}

type Named = Pick<PlanChange, 'apiVersion' | 'kind' | 'namespace' | 'name'>;
