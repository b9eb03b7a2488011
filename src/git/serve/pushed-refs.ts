/** Checks the refs that a push creates or moves: branches and tags, with names that every clone can store. */

import { nameFlaw } from '../objects/portable-name.ts';
import type { GitContext } from '../process/git-environment.ts';
import { runGit } from '../process/git-process.ts';
import { symbolicTarget } from '../refs/ref-file.ts';
import type { RefMove } from './hook-protocol.ts';

const MAX_REFS_IN_PUSH = 1_000;
/** Every clone and every fetch receives all of them. */
const MAX_REFS = 10_000;

const OWN_FOLDER = /^refs\/(?:heads|tags)\/(.+)$/;

/**
 * Reasons to refuse the refs of a push, one per line. `ref` is the branch of the daemon. The removal
 * of refs is left to the settings of git.
 */
export async function refObjections(
  { gitDir, ref }: { readonly gitDir: string; readonly ref: string },
  moves: readonly RefMove[],
): Promise<readonly string[]> {
  if (moves.length > MAX_REFS_IN_PUSH) {
    return [`This push has ${moves.length} refs; push at most ${MAX_REFS_IN_PUSH} at a time`];
  }
  const doubled = moves.find((move, at) => moves.findIndex((one) => one.ref === move.ref) < at);
  if (doubled !== undefined) {
    return [`${JSON.stringify(doubled.ref)} is named twice; push each ref once`];
  }
  const made = moves.filter(({ newId }) => newId !== undefined);
  const flaws = made.flatMap((move) => caseFlaw(move.ref, ref) ?? refFlaw(move.ref) ?? []);
  if (flaws.length > 0) return flaws;
  const symbolic = moves.flatMap((move) => symbolicFlaw(gitDir, move.ref) ?? []);
  if (symbolic.length > 0) return symbolic;
  // A push over HTTP does not name the old value of the branch, which is there.
  const isAdded = ({ oldId, ref: name }: RefMove): boolean => oldId === undefined && name !== ref;
  const added = made.filter(isAdded).length;
  if (added === 0) return [];
  const present = await countRefs({ gitDir });
  if (present + added <= MAX_REFS) return [];
  return [
    `The repository would have ${present + added} branches and tags, more than ${MAX_REFS}; push fewer`,
  ];
}

/** On a file system that ignores letter case, git takes such a ref for the branch of the daemon. */
function caseFlaw(ref: string, branch: string): string | undefined {
  if (ref === branch || ref.toLowerCase() !== branch.toLowerCase()) return undefined;
  return `${JSON.stringify(ref)} differs from ${JSON.stringify(branch)} by case alone`;
}

/** Git would move the ref that it points to, which may be the branch of the daemon. */
function symbolicFlaw(gitDir: string, ref: string): string | undefined {
  const isInside = !ref.split('/').includes('..');
  const target = isInside ? symbolicTarget(gitDir, ref) : undefined;
  if (target === undefined) return undefined;
  return `${JSON.stringify(ref)} is a symbolic ref; push to ${JSON.stringify(target)}`;
}

function refFlaw(ref: string): string | undefined {
  const shown = JSON.stringify(ref);
  const [, name] = OWN_FOLDER.exec(ref) ?? [];
  if (name === undefined) return `${shown} is neither a branch nor a tag; no other ref is accepted`;
  // Git commands read such names as an option, or as the commit that is checked out.
  if (name.startsWith('-')) return `${shown}: a name does not begin with "-"`;
  if (name === 'HEAD') return `${shown}: HEAD is not the name of a branch or tag`;
  const parts = Buffer.from(name, 'utf8').toString('latin1').split('/');
  const flaw = parts.map(nameFlaw).find((found) => found !== undefined);
  return flaw === undefined ? undefined : `${shown} is not accepted as a name: ${flaw}`;
}

async function countRefs(context: GitContext): Promise<number> {
  const args = ['for-each-ref', `--count=${MAX_REFS + 1}`, '--format=.', 'refs/heads', 'refs/tags'];
  return (await runGit(context, args)).toString('latin1').split('\n').length - 1;
}
