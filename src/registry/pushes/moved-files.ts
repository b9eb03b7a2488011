/**
 * Moves of files to a place where `.sops.yaml` has other recipients. API writes encrypt a file for those of its
 * place, so that a move decides who reads what comes later.
 */
import type { ObjectChange, Sealing } from '../../catalog/index.ts';
import { SealingError } from '../../sealing/index.ts';
import { isAnew } from '../writes/change-verbs.ts';
import type { SealedPlace } from '../writes/creation-rules.ts';
import type { Sealer } from '../writes/sealer.ts';

export interface Rules {
  readonly sealer: Pick<Sealer, 'rules'>;
  readonly sealing: Sealing | undefined;
  readonly repository: SealedPlace['repository'];
}

/** Changes that leave an object where its file has a further recipient, or no rule that can be used. */
export async function movedForOthers(
  rules: Rules,
  changes: readonly ObjectChange[],
): Promise<ObjectChange[]> {
  if (rules.sealing === undefined) return [];
  const known = new Map<string, ReadonlySet<string> | undefined>();
  const recipientsAt = async (path: string): Promise<ReadonlySet<string> | undefined> => {
    if (!known.has(path)) known.set(path, await recipientsOf(rules, path));
    return known.get(path);
  };
  const moved: ObjectChange[] = [];
  for (const change of changes) {
    const [from, to] = [change.before?.place.path, change.after?.place.path];
    if (from === undefined || to === undefined || from === to || isAnew(change)) continue;
    const before = await recipientsAt(from);
    const after = await recipientsAt(to);
    const isSame = after === undefined ? before === undefined : isWithin(after, before);
    if (!isSame) moved.push(change);
  }
  return moved;
}

/** Undefined: no rule matches, or one that cannot be used. */
async function recipientsOf(
  { sealer, sealing, repository }: Rules,
  path: string,
): Promise<ReadonlySet<string> | undefined> {
  try {
    const rule = await sealer.rules.ruleFor({ path, sealing, repository });
    return rule && new Set([...rule.recipients, ...rule.pgp]);
  } catch (error) {
    if (!(error instanceof SealingError)) throw error;
    return undefined;
  }
}

function isWithin(after: ReadonlySet<string>, before: ReadonlySet<string> | undefined): boolean {
  return before !== undefined && [...after].every((recipient) => before.has(recipient));
}
