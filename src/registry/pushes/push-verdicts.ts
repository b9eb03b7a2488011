/** Recent verdicts on pushes, for later questions. They are lost at a restart. */
import { LRUCache } from 'lru-cache';
import type { Problem } from '../../manifests/index.ts';
import type { Verdict } from './verdict.ts';

const MOST_REFUSALS = 128;
const MOST_PUSHES = 50;
/** Of the problems of one refusal, and of all of them: a push can have 250,000. */
const MOST_CHARACTERS = 2 * 1024 * 1024;
const MOST_CHARACTERS_IN_ALL = 16 * 1024 * 1024;
/** Of a refused push, these lines are recorded. */
const MOST_LINES = 20;

/** A push to the branch, and its verdict. */
export interface JudgedPush {
  /** In milliseconds since the epoch. */
  readonly time: number;
  readonly user: string;
  readonly revision: string;
  readonly result: 'accepted' | 'refused';
  /** First lines of the answer to the pusher. */
  readonly lines: readonly string[];
  readonly problems: number;
}

export class PushVerdicts {
  readonly #refused = new LRUCache<string, Verdict>({
    max: MOST_REFUSALS,
    maxSize: MOST_CHARACTERS_IN_ALL,
    sizeCalculation: ({ problems = [] }) => problems.reduce((sum, one) => sum + sizeOf(one), 1),
  });
  readonly #pushes: JudgedPush[] = [];
  #count = 0;

  /** Number of verdicts. */
  get count(): number {
    return this.#count;
  }

  /** Newest first. */
  get recent(): readonly JudgedPush[] {
    return this.#pushes;
  }

  /** The refusal of this commit with its first problems, unless a later push of it was accepted. */
  refusalOf(revision: string): Verdict | undefined {
    return this.#refused.get(revision);
  }

  record({
    revision,
    verdict,
    ...by
  }: Pick<JudgedPush, 'time' | 'user' | 'revision'> & { readonly verdict: Verdict }): void {
    this.#count++;
    if (verdict.ok) this.#refused.delete(revision);
    else this.#refused.set(revision, { ...verdict, problems: first(verdict.problems) });
    const { ok, lines, problems = [] } = verdict;
    this.#pushes.unshift({
      ...by,
      revision,
      result: ok ? 'accepted' : 'refused',
      lines: lines.slice(0, MOST_LINES),
      problems: problems.length,
    });
    this.#pushes.length = Math.min(this.#pushes.length, MOST_PUSHES);
  }
}

function first(problems: readonly Problem[] = []): Problem[] {
  let left = MOST_CHARACTERS;
  const end = problems.findIndex((problem) => {
    left -= sizeOf(problem);
    return left < 0;
  });
  return problems.slice(0, end < 0 ? problems.length : end);
}

/** Characters, and about as much as an object takes. */
function sizeOf({ path, message }: Problem): number {
  return path.length + message.length + 100;
}
