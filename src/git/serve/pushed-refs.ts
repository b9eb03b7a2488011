/** Which refs a push may make or move: branches and tags, with names that every clone can hold. */

import { nameFlaw } from '../objects/portable-name.ts';
import type { GitContext } from '../process/git-environment.ts';
import { runGit } from '../process/git-process.ts';
import type { RefMove } from './hook-protocol.ts';

const MAX_REFS_IN_PUSH = 1_000;
/** Every clone and every fetch is told all of them. */
const MAX_REFS = 10_000;

const OWN_FOLDER = /^refs\/(?:heads|tags)\/(.+)$/;

/** Why the refs of a push are not taken, a line each; `ref`: the served branch. Removing one is left to git's own settings. */
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
  const lines = made.flatMap((move) => caseFlaw(move.ref, ref) ?? refFlaw(move.ref) ?? []);
  if (lines.length > 0) return lines;
  const added = made.filter(({ oldId }) => oldId === undefined).length;
  if (added === 0) return [];
  const present = await countRefs({ gitDir });
  if (present + added <= MAX_REFS) return [];
  return [
    `The repository would have ${present + added} branches and tags, more than ${MAX_REFS}; push fewer`,
  ];
}

/** On a file system that ignores letter case, such a ref is the served branch to git. */
function caseFlaw(ref: string, served: string): string | undefined {
  if (ref === served || ref.toLowerCase() !== served.toLowerCase()) return undefined;
  return `${JSON.stringify(ref)} differs from ${JSON.stringify(served)} by case alone`;
}

function refFlaw(ref: string): string | undefined {
  const shown = JSON.stringify(ref);
  const [, name] = OWN_FOLDER.exec(ref) ?? [];
  if (name === undefined) return `${shown} is neither a branch nor a tag; no other ref is taken`;
  // Commands read them as an option, and as the commit that is checked out.
  if (name.startsWith('-')) return `${shown}: a name does not begin with "-"`;
  if (name === 'HEAD') return `${shown}: HEAD is not the name of a branch or tag`;
  const parts = Buffer.from(name, 'utf8').toString('latin1').split('/');
  const flaw = parts.map(nameFlaw).find((found) => found !== undefined);
  return flaw === undefined ? undefined : `${shown} is not taken as a name: ${flaw}`;
}

async function countRefs(context: GitContext): Promise<number> {
  const args = ['for-each-ref', `--count=${MAX_REFS + 1}`, '--format=.', 'refs/heads', 'refs/tags'];
  return (await runGit(context, args)).toString('latin1').split('\n').length - 1;
}
