/** Measures of work that do not depend on what else the machine does: calls, processor time. */
import { type Profiler, Session } from 'node:inspector';

/** Calls of each function of the name in our source while the work runs. */
export function callsOf(name: string, work: () => void): number {
  const session = new Session();
  session.connect();
  const ask = <T>(method: string, params: object = {}): T => {
    let answer: T | undefined;
    // The callback is called before `post` returns: the engine is in this thread.
    session.post(method, params, (error: Error | null, result?: unknown) => {
      if (error !== null) throw error;
      answer = result as T;
    });
    return answer as T;
  };
  try {
    ask('Profiler.enable');
    ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    work();
    const coverage = ask<Profiler.TakePreciseCoverageReturnType>('Profiler.takePreciseCoverage');
    return coverage.result
      .filter(({ url }) => url.includes('/src/'))
      .flatMap(({ functions }) => functions)
      .filter(({ functionName }) => functionName === name)
      .reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0);
  } finally {
    session.disconnect();
  }
}

/** Processor time of this process, in milliseconds, while the work runs. */
export function processorMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
