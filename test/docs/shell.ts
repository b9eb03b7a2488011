/** A shell that runs the commands of a page one after the other, as a reader would. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { type Daemon, findKubectl, scratchDir } from '../support/daemon.ts';
import { ROOT } from './markdown.ts';

export interface Outcome {
  /** Standard output and error, as they came. */
  readonly output: string;
  /** Whether any command failed. */
  readonly failed: boolean;
}

export interface Shell {
  /** What a page calls `127.0.0.1:8443` and `/tmp/platform`, in the words of this run. */
  translate(text: string): string;
  run(command: string): Promise<Outcome>;
  close(): void;
}

/** Pages are written for kubectl of this version. */
const KUBECTL = '1.32';

/** Whether the tools that the pages use are there. */
export function canRunPages(): boolean {
  return findKubectl(KUBECTL) !== undefined;
}

const END = '\u0001end:';

/**
 * Starts in a folder that looks like a checkout in which `npm start` runs: `data/` is the daemon's
 * data directory. Nothing of the environment gets in but the PATH.
 */
export function openShell(daemon: Pick<Daemon, 'dataDir' | 'port'>): Shell {
  const scratch = scratchDir('gitplane-docs-');
  const checkout = dirname(daemon.dataDir);
  prepare(scratch, checkout);
  const shell = spawn('bash', ['--noprofile', '--norc'], {
    cwd: checkout,
    env: {
      PATH: `${join(scratch, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`,
      HOME: scratch,
      TMPDIR: scratch,
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      PAGER: 'cat',
    },
  });
  shell.stdin.write("set -o pipefail; trap 'page_failed=1' ERR\n");
  const translate = (text: string): string =>
    text
      .replaceAll('127.0.0.1:8443', `127.0.0.1:${daemon.port}`)
      .replaceAll('/tmp/', `${scratch}/`);
  let count = 0;
  return {
    translate,
    run: (command) => {
      const file = join(scratch, `step-${++count}.sh`);
      writeFileSync(file, `${translate(command)}\n`);
      return runFile(shell, file);
    },
    close: () => shell.kill(),
  };
}

function prepare(home: string, checkout: string): void {
  mkdirSync(join(home, 'bin'));
  const kubectl = findKubectl(KUBECTL);
  if (kubectl !== undefined) symlinkSync(kubectl, join(home, 'bin/kubectl'));
  writeFileSync(
    join(home, '.gitconfig'),
    '[user]\n\tname = Ann Author\n\temail = ann@example.com\n[advice]\n\tdetachedHead = false\n',
  );
  for (const name of ['dist', 'examples', 'schemas', 'node_modules', 'package.json']) {
    try {
      symlinkSync(join(ROOT, name), join(checkout, name));
    } catch (error) {
      // Several pages share one daemon, and so one checkout.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

function runFile(shell: ChildProcessWithoutNullStreams, file: string): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk: Buffer): void => {
      output += chunk.toString('utf8');
      const end = output.indexOf(END);
      if (end < 0 || !output.endsWith('\n')) return;
      shell.stdout.off('data', read);
      shell.off('exit', gone);
      resolve({
        output: output.slice(0, end),
        failed: output.slice(end + END.length).startsWith('1'),
      });
    };
    const gone = (): void => reject(new Error(`The shell ended:\n${output}`));
    shell.stdout.on('data', read);
    shell.once('exit', gone);
    shell.stdin.write(
      `page_failed=0; . '${file}' </dev/null 2>&1; printf '${END}%s\\n' "$page_failed"\n`,
    );
  });
}
