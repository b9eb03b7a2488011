/** DELETE of a collection: each object that the selectors match, one commit each. */
import { StatusError } from '../../apimachinery/index.ts';
import { isAccessRole } from '../../registry/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { parseListOptions } from '../input/list-options.ts';
import type { Answer } from '../output/answer.ts';
import { encodeList } from '../output/representation.ts';
import { collectionOf, type ResourceRequest } from '../request.ts';
import { selected } from '../selection.ts';
import { deleteOptions, deletionOptions } from './deletion.ts';
import { answerForm, shownAfterWrite } from './shared.ts';

export async function handleDeleteCollection(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  const form = answerForm(deps, request, 'list');
  const { kind, info } = request;
  const asked = deleteOptions(request);
  const selection = parseListOptions(info.query, kind, 'list');
  const options = deletionOptions(deps, request, asked);
  const { items: all } = deps.store.list(collectionOf(request));
  const matching = (await selected(selection, all)).filter(({ key }) => !isAccessRole(key));
  const deletions = await Promise.allSettled(
    matching.map(async (stored) => {
      const { namespace, name } = stored.key;
      const rightOn = info.selectedName === '' ? undefined : stored.object.metadata.uid;
      const { gracePeriodSeconds, propagationPolicy } = asked;
      const how = { gracePeriodSeconds, propagationPolicy };
      const deletion = { kind, namespace, name, rightOn, options, delete: how };
      const result = await deps.registry.delete(deletion).catch(unlessGone);
      // The version before the deletion: the store has none after it.
      return result && shownAfterWrite(deps, request, result, stored);
    }),
  );
  // An answer before the last deletion would tell less than what happens.
  const items = deletions.flatMap((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value ?? [];
  });
  const metadata = { resourceVersion: String(deps.store.resourceVersion) };
  return { code: 200, ...encodeList(kind, { metadata, items }, form) };
}

/** Counts as deleted if another client removed it first. */
function unlessGone(error: unknown): undefined {
  if (error instanceof StatusError && error.code === 404) return undefined;
  throw error;
}
