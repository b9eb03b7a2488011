/** Changes of the catalog as API verbs. */
import { jsonEqual } from '../../apimachinery/index.ts';
import { isRebound, type ObjectChange, sameSources } from '../../catalog/index.ts';

/**
 * A move of a file does not change the object. A change of the key's owner is a change, even if two
 * commits of one push change the text and revert it.
 */
export function isVisible(change: ObjectChange): boolean {
  const { before, after } = change;
  if (before === undefined || after === undefined || isAnew(change)) return true;
  if (isRebound(change)) return true;
  // The sources are known; comparing manifests would have to parse them.
  if (!sameSources(before.source, after.source)) return true;
  return !jsonEqual(before.manifest, after.manifest);
}

/** True if the object ends and another one with its name begins. */
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
