/**
 * Everything a run leaves behind while it runs: one temporary directory and child processes. Both
 * are gone at the end, also when the run is interrupted.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export class Workspace {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'gitplane-bench-')));
  readonly #children = new Set<ChildProcess>();
  readonly #onSignal = (): void => {
    this.dispose();
    process.exit(130);
  };
  #made = 0;

  constructor() {
    for (const signal of SIGNALS) process.once(signal, this.#onSignal);
  }

  /** A path that nothing is at yet. */
  path(name: string): string {
    this.#made += 1;
    return join(this.root, `${this.#made}-${name}`);
  }

  /** A process that must not outlive the run. */
  adopt<T extends ChildProcess>(child: T): T {
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  dispose(): void {
    for (const signal of SIGNALS) process.removeListener(signal, this.#onSignal);
    for (const child of this.#children) child.kill('SIGKILL');
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}
