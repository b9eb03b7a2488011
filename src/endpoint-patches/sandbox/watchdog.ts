/**
 * Detects a job that runs for too long. Both clocks must agree: the wall clock, and processor time,
 * which does not advance while the machine runs other processes.
 */

export interface Reading {
  readonly wallMs: number;
  readonly cpuMs: number;
}

export type Clocks = () => Reading;

/** Of the process: it includes the thread that is watched. */
export const processClocks: Clocks = () => {
  const { user, system } = process.cpuUsage();
  return { wallMs: performance.now(), cpuMs: (user + system) / 1000 };
};

/** A tenant's first job makes its sandbox, and the first of all loads the engine. */
const OPENING_FACTOR = 10;
/** Wall-clock limit, regardless of processor time: no healthy job takes so long. */
const WALL_FACTOR = 20;

export class Watchdog {
  readonly #limitMs: number;
  readonly #clocks: Clocks;
  #job = 0;
  #since: Reading = { wallMs: 0, cpuMs: 0 };

  constructor(limitMs: number, clocks: Clocks = processClocks) {
    this.#limitMs = limitMs;
    this.#clocks = clocks;
  }

  /**
   * Polled with the running job (0: none; below 0: its sandbox is being created). Returns true if
   * the job exceeded its time.
   */
  late(job: number): boolean {
    const now = this.#clocks();
    if (job === 0 || job !== this.#job) {
      this.#job = job;
      this.#since = now;
      return false;
    }
    const wall = now.wallMs - this.#since.wallMs;
    const cpu = now.cpuMs - this.#since.cpuMs;
    const limit = job < 0 ? OPENING_FACTOR * this.#limitMs : this.#limitMs;
    return (wall >= limit && cpu >= limit) || wall >= WALL_FACTOR * limit;
  }
}
