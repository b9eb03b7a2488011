/**
 * A command that starts another program within limits of memory and processor time, which hold for
 * all that this program starts.
 */
import { gitMemoryMib } from './process-limits.ts';

/**
 * The shell becomes the program once the limits are set: it costs less than a millisecond, and is
 * there where `prlimit` is not. `-d` limits private memory: mapped packs do not count. A system that
 * does not know a limit, or has a lower one, goes on with its own. The hard limit of processor time is
 * a second later: where both are met at once, Linux sends SIGKILL, which names no limit.
 */
const SCRIPT = [
  'ulimit -d "$1" 2>/dev/null',
  'test "$2" = 0 || { ulimit -S -t "$2" && ulimit -H -t "$(($2 + 1))"; } 2>/dev/null',
  'shift 2',
  'exec "$@"',
].join('; ');

/** Exit code of a shell that does not find the program. */
export const NOT_FOUND = 127;

const HAS_SHELL = process.platform !== 'win32';

/** A program and its arguments for `spawn`; 0 seconds of processor time: any number of them. */
export function limitedCommand(
  program: string,
  args: readonly string[],
  cpuSeconds = 0,
): readonly [string, string[]] {
  if (!HAS_SHELL) return [program, [...args]];
  const limits = [String(gitMemoryMib() * 1024), String(cpuSeconds)];
  return ['sh', ['-c', SCRIPT, program, ...limits, program, ...args]];
}
