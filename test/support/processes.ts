import { readdirSync, readFileSync } from 'node:fs';

/** Whether there is a process of that id. */
export function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Ends a process that leads a group, and all that it started, as when a container goes down. Git
 * processes lead groups of their own, and are children of the launcher.
 */
export function killWithChildren(pid: number): void {
  if (!kill(pid, 'SIGSTOP')) return;
  for (const child of descendantsOf(pid)) if (!kill(-child)) kill(child);
  if (!kill(-pid)) kill(pid);
}

function kill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}

function descendantsOf(parent: number): number[] {
  return childrenOf(parent).flatMap((child) => [child, ...descendantsOf(child)]);
}

function childrenOf(parent: number): number[] {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
    } catch {
      return false;
    }
  });
}
