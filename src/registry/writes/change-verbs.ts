/** What a step of the catalog does to an object, in the verbs of the API. */
import { jsonEqual } from '../../apimachinery/index.ts';
import { isTiedAnew, type ObjectChange, sameSources } from '../../catalog/index.ts';

/**
 * Moves of a file are no change of the object. A key that changes owners is changed, even where two
 * commits of one push change its text and change it back.
 */
export function isVisible(change: ObjectChange): boolean {
  const { before, after } = change;
  if (before === undefined || after === undefined || isAnew(change)) return true;
  if (isTiedAnew(change)) return true;
  // Known by now, where the manifests would have to be parsed.
  if (!sameSources(before.source, after.source)) return true;
  return !jsonEqual(before.manifest, after.manifest);
}

/** Whether the object ends and another one of its name begins. */
export function isAnew({ before, after }: ObjectChange): boolean {
  if (before === undefined || after === undefined || before.identity === after.identity)
    return false;
  const [was, is] = [before.identity, after.identity];
  return was.introducedBy !== is.introducedBy || was.rootCommit !== is.rootCommit;
}

export function verbsOf(change: ObjectChange): ('create' | 'update' | 'delete')[] {
  if (isAnew(change)) return ['delete', 'create'];
  if (change.before === undefined) return ['create'];
  return [change.after === undefined ? 'delete' : 'update'];
}
