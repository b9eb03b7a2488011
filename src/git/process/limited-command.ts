/** Runs a program within limits of memory, CPU time and file size, which also hold for its children. */
import { gitMemoryMib, type ProcessLimits } from './process-limits.ts';

/**
 * The shell sets the limits and the priority, which children inherit, and then becomes the program. This takes less than a millisecond and works
 * without `prlimit`. `-d` limits private memory, so that mapped packs do not count. A system that does
 * not know a limit, or has a lower one, keeps its own. The hard limit of CPU time is one second later:
 * if both limits are equal, Linux sends SIGKILL, which does not name a limit.
 */
const SCRIPT = [
  'ulimit -d "$1" 2>/dev/null',
  'test "$2" = 0 || { ulimit -S -t "$2" && ulimit -H -t "$(($2 + 1))"; } 2>/dev/null',
  // In blocks of 512 bytes (POSIX). Without the signal (25), git gets an error, which names the limit.
  'test "$4" = 0 || { trap "" 25; ulimit -f "$4"; } 2>/dev/null',
  // The shell leaves a word without quotes out if it is empty.
  'nice=$3',
  'test "$nice" = "" || command -v nice >/dev/null || nice=',
  'shift 4',
  'exec $nice "$@"',
].join('; ');

/** About a tenth of a busy CPU: with less, packs would pile up on a busy machine. */
const BACKGROUND = 'nice -n 10';

/** Exit code of a shell that cannot find the program. */
export const NOT_FOUND = 127;

const HAS_SHELL = process.platform !== 'win32';

/** Program and arguments for `spawn`. */
export function limitedCommand(
  program: string,
  args: readonly string[],
  limited: Pick<ProcessLimits, 'cpuSeconds' | 'fileBytes' | 'isBackground'>,
): readonly [string, string[]] {
  if (!HAS_SHELL) return [program, [...args]];
  const { cpuSeconds = 0, fileBytes = 0, isBackground = false } = limited;
  const nice = isBackground ? BACKGROUND : '';
  const limits = [String(gitMemoryMib() * 1024), String(cpuSeconds), nice, String(fileBytes / 512)];
  return ['sh', ['-c', SCRIPT, program, ...limits, program, ...args]];
}
