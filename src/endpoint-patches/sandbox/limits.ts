/** Limits of an expression. Reaching one fails only the object that was being patched. */
export interface Limits {
  /**
   * Steps of the interpreter for all expressions on one object, in units of ten thousand. Counted,
   * not timed: the same expression reaches it on every machine, or on none.
   */
  readonly fuel: number;
  /**
   * Time limit for one object in milliseconds, of wall clock and processor time. It covers work
   * that the interpreter does not count, such as a search in a huge text: the thread is terminated
   * then.
   */
  readonly timeMs: number;
  /** Bytes that values of the expressions of one tenant may take while one of them runs. */
  readonly memoryBytes: number;
  readonly stackBytes: number;
  /** Bytes that the results of all expressions on one object may take, as the engine writes them. */
  readonly outputBytes: number;
}

/** About 0.1 s of plain JavaScript, and a hundred times what an object of 100 addresses takes. */
export const DEFAULT_LIMITS: Limits = {
  fuel: 400,
  timeMs: 500,
  memoryBytes: 32 * 1024 * 1024,
  stackBytes: 256 * 1024,
  outputBytes: 1024 * 1024,
};
