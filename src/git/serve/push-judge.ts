/** Verdicts on pushes as the hooks of git pass them on. */
import { type GitLogger, silent } from '../logger.ts';
import { GitLimitError } from '../process/process-limits.ts';
import type { PushRequest, PushVerdict } from './hook-protocol.ts';

export type Judge = (push: PushRequest) => Promise<PushVerdict>;

// Colours and cursor movements in a hostile path must not reach the terminal of the pusher.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
const controlCharacters = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

/** The verdict, in lines that a terminal can show. A judgement that fails refuses the push. */
export async function shownVerdict(
  judging: Promise<PushVerdict>,
  logger: GitLogger = silent,
): Promise<PushVerdict> {
  const { ok, lines, reason } = await judging.catch((err: unknown) => failed(err, logger));
  const shown = lines.flatMap((line) => line.replaceAll(controlCharacters, '?').split('\n'));
  if (reason === undefined) return { ok, lines: shown };
  return {
    ok,
    lines: shown,
    reason: reason.replaceAll(controlCharacters, '?').replaceAll('\n', ' '),
  };
}

function failed(err: unknown, logger: GitLogger): PushVerdict {
  logger.warn({ err }, 'a push could not be validated');
  const why = err instanceof GitLimitError ? err.message : 'check its log, then push again';
  return { ok: false, lines: [`gitplane could not validate this push: ${why}`] };
}
