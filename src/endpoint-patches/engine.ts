/**
 * Endpoint patches as a library: give it patches and an object, get the patched object and a report.
 *
 *     const program = compilePatches({ tenant, patches });   // once per tenant and change of patches
 *     const engine = new PatchEngine();                       // once per process
 *     const { object, report } = await engine.apply(program, { object, direction: 'forward' });
 *
 * Expressions are untrusted JavaScript. They run in separate threads, in a sandboxed interpreter
 * (docs/endpoint-patches.md); the caller's thread never waits.
 */
import { availableParallelism } from 'node:os';
import type { Evaluator } from './evaluator.ts';
import type { PatchProgram } from './program.ts';
import type { PatchFailure, PatchOutcome } from './report.ts';
import { type ApplyRequest, runPatches } from './run.ts';
import { DEFAULT_LIMITS, type Limits } from './sandbox/limits.ts';
import { Pool, type PoolStats } from './sandbox/pool.ts';

export interface EngineOptions {
  readonly limits?: Partial<Limits>;
  /** Threads for expressions; they start when the first expression has something to do. */
  readonly threads?: number;
}

/** Two, so that one that stands still does not stop all; more than four are never busy. */
function usualThreads(): number {
  return Math.min(4, Math.max(2, availableParallelism() - 1));
}

export class PatchEngine {
  readonly #pool: Pool;

  constructor({ limits, threads }: EngineOptions = {}) {
    this.#pool = new Pool(threads ?? usualThreads(), { ...DEFAULT_LIMITS, ...limits });
  }

  get stats(): Readonly<PoolStats> {
    return this.#pool.stats;
  }

  /**
   * Runs the patches that have something to do in this direction. Never throws for what a patch
   * does: the outcome then has no object, and a report that says why.
   */
  apply(program: PatchProgram, request: ApplyRequest): Promise<PatchOutcome> {
    const here = runWithoutExpressions(program, request);
    if (here !== undefined) return Promise.resolve(here);
    return new Promise((resolve) => {
      this.#pool.add({
        program,
        request: JSON.stringify(request),
        settle: (result) => resolve('report' in result ? result : failed(request, result)),
      });
    });
  }

  /** Ends the threads; what is under way fails. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}

/**
 * Shared by all objects with an expression. Its stack is never read, so one instance saves time.
 */
const NEEDS_SANDBOX = new Error('An expression has something to do');

function needSandbox(): never {
  throw NEEDS_SANDBOX;
}

/** Some milliseconds. Patches with more to do go to a thread, which has a time limit. */
const MOST_STEPS = 10_000;

/** Runs patches in the thread of the caller. */
class NoExpressions implements Evaluator {
  readonly fuel = 0;
  readonly ready = needSandbox;
  readonly evaluate = needSandbox;
  #steps = 0;

  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MOST_STEPS) needSandbox();
  }
}

/** Most objects are matched by no expression: then no thread is needed. Undefined: one is. */
function runWithoutExpressions(
  program: PatchProgram,
  request: ApplyRequest,
): PatchOutcome | undefined {
  try {
    return runPatches(program, request, new NoExpressions());
  } catch (error) {
    if (error === NEEDS_SANDBOX) return undefined;
    throw error;
  }
}

/** The thread was terminated before it could report the patch. */
function failed({ direction }: ApplyRequest, failure: PatchFailure): PatchOutcome {
  const report = { direction, patches: [], durationMs: 0, fuel: 0, failure };
  return { object: undefined, report };
}
