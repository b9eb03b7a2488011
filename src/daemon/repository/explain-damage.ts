/** Explains a failed start by objects that cannot be read. */
import { StartError } from '../../bootstrap/index.ts';
import {
  type BareRepository,
  damageRemedy,
  GitError,
  packDamage,
  packFiles,
  tipDamage,
} from '../../git/index.ts';

const WITHIN_MS = 10_000;

/** Returns the error itself, unless git reported it and the repository is damaged. */
export async function explainDamage(
  repository: Pick<BareRepository, 'context' | 'gitDir' | 'head'>,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof GitError)) return error;
  const { context, gitDir } = repository;
  const limits = { deadlineMs: WITHIN_MS, signal: AbortSignal.timeout(WITHIN_MS) };
  const tip = await repository.head();
  const damage =
    (await packDamage(gitDir, await packFiles(gitDir))) ??
    (tip && (await tipDamage(context, tip, limits)));
  if (damage === undefined) return error;
  const words = `The repository is damaged: ${gitDir}: ${damage}. ${damageRemedy(gitDir)}`;
  return new StartError(words, { cause: error });
}
