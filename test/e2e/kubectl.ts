/** kubectl as a user runs it: the command, what it prints, how it ends. */
import { expect } from 'vitest';
import type { Daemon, RunResult } from '../support/daemon.ts';

export interface Kubectl {
  run(args: readonly string[], input?: string | object): Promise<RunResult>;
  /** The standard output of a command that succeeds and warns of nothing. */
  ok(args: readonly string[], input?: string | object): Promise<string>;
  /** The standard error of a command that fails. */
  fails(args: readonly string[], input?: string | object): Promise<string>;
}

export function kubectlOf(daemon: Daemon, version = '1.32'): Kubectl {
  const run: Kubectl['run'] = (args, input) => {
    const text = typeof input === 'object' ? JSON.stringify(input) : input;
    return daemon.kubectl(args, { version, ...(text === undefined ? {} : { input: text }) });
  };
  return {
    run,
    ok: async (args, input) => {
      const { code, stdout, stderr } = await run(args, input);
      const command = args.join(' ');
      expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: '' });
      return stdout;
    },
    fails: async (args, input) => {
      const { code, stderr } = await run(args, input);
      expect(code, `${args.join(' ')}: ${stderr}`).toBe(1);
      return stderr;
    },
  };
}
