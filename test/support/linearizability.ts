/**
 * Whether a recorded history could have come from one copy of the data that takes one operation at a
 * time: the algorithm of Wing and Gong, with the memory of Lowe (as in Porcupine). Operations that
 * overlap may have taken effect in any order; one that ended before another began came before it.
 */

export interface Operation<Input, Output> {
  readonly input: Input;
  /** Undefined: nobody knows how it ended. It may have taken effect at any time after its call. */
  readonly output: Output | undefined;
  readonly called: number;
  /** Later than `called`; infinite when there was no answer. */
  readonly returned: number;
}

/** One object, say, and what each operation on it may answer. States are compared by `key`. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /**
   * The state after an operation, or undefined when it cannot answer that in this state. Without an
   * output: what it does if it takes effect.
   */
  step(state: State, input: Input, output: Output | undefined): State | undefined;
  key(state: State): string;
}

export interface Verdict<Input, Output> {
  readonly linearizable: boolean;
  /** The longest order that was possible, for messages. */
  readonly longest: readonly Operation<Input, Output>[];
  /** What could come next in no order of all that were tried. */
  readonly stuck: readonly Operation<Input, Output>[];
}

/**
 * Searches depth first for an order that the model allows. A set of operations that was tried from
 * one state is never tried again, which is what makes it feasible.
 */
export function check<State, Input, Output>(
  model: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
): Verdict<Input, Output> {
  const operations = history.toSorted((a, b) => a.called - b.called);
  const taken = new Set<number>();
  const tried = new Set<string>();
  const order: number[] = [];
  let longest: number[] = [];
  let stuck: number[] = [];

  /** Those that nothing left to do has to come before. */
  function candidates(): number[] {
    let bound = Number.POSITIVE_INFINITY;
    for (const [i, { returned }] of operations.entries()) {
      if (!taken.has(i) && returned < bound) bound = returned;
    }
    const found: number[] = [];
    for (const [i, { called }] of operations.entries()) {
      if (called > bound) break;
      if (!taken.has(i)) found.push(i);
    }
    return found;
  }

  function isComplete(): boolean {
    return operations.every(({ output }, i) => output === undefined || taken.has(i));
  }

  function search(state: State): boolean {
    if (isComplete()) return true;
    const here = `${[...taken].sort((a, b) => a - b).join()} ${model.key(state)}`;
    if (tried.has(here)) return false;
    tried.add(here);
    const open = candidates();
    for (const i of open) {
      const { input, output } = operations[i] as Operation<Input, Output>;
      const next = model.step(state, input, output);
      if (next === undefined) continue;
      taken.add(i);
      order.push(i);
      if (search(next)) return true;
      taken.delete(i);
      order.pop();
    }
    if (order.length >= longest.length) {
      longest = [...order];
      stuck = open;
    }
    return false;
  }

  const linearizable = search(model.initial);
  const named = (numbers: readonly number[]): Operation<Input, Output>[] =>
    numbers.map((i) => operations[i] as Operation<Input, Output>);
  return { linearizable, longest: named(linearizable ? order : longest), stuck: named(stuck) };
}
