/** The built daemon with faults in its way; see preload.mjs for what can be injected. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Daemon, type DaemonSetup, startDaemon } from '../daemon.ts';
import { killWithChildren } from '../processes.ts';

export interface Kill {
  /** As in `rename repo.git/refs/heads/main`; any operation when absent. */
  readonly site?: string;
  /** From 1. */
  readonly nth: number;
  readonly when: 'before' | 'after' | 'half';
  /** With its children, as when a container goes down. */
  readonly group: boolean;
}

export interface FaultSetup extends DaemonSetup {
  readonly dataDir: string;
  readonly kill?: Kill | undefined;
  /** Gets a line for each operation below the data directory. */
  readonly trace?: string | undefined;
  /** May hold `{code, sites}` while the daemon runs: see `refuse`. */
  readonly control?: string | undefined;
}

const PRELOAD = pathToFileURL(join(import.meta.dirname, 'preload.mjs')).href;

/** Pushes may have secrets in the clear. */
export const FAULTY_ARGS: readonly string[] = ['--allow-plaintext-secrets'];

/** Rejects when the daemon dies before it serves, as it may be told to. */
export function startFaultyDaemon(setup: FaultSetup): Promise<Daemon> {
  const { dataDir: root, kill, trace, control } = setup;
  return startDaemon({
    args: FAULTY_ARGS,
    ...setup,
    node: ['--import', PRELOAD],
    env: { ...setup.env, GITPLANE_FAULTS: JSON.stringify({ root, kill, trace, control }) },
    detached: true,
  });
}

/** The daemon and every process that it started. */
export function killGroup(daemon: Daemon): void {
  killWithChildren(Number(daemon.process.pid));
}

export function isAlive({ process: child }: Daemon): boolean {
  return child.exitCode === null && child.signalCode === null;
}
