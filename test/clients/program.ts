/**
 * The Go program beside this file, built once for each state of its sources: in the cache of the user,
 * since it takes minutes where nothing of it was ever compiled. Undefined, and said loudly, where there
 * is no Go or its modules cannot be had.
 */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const FOLDER = join(import.meta.dirname, 'go');
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gitplane/clients');

/** What the program said of one claim; `error` where it does not hold. */
export interface Verdict {
  readonly claim?: string;
  readonly error?: string;
  readonly waiting?: string;
  readonly following?: number;
  readonly leading?: string;
  readonly listening?: string;
}

/** Where the program is. `folder`: another Go module, with its main package at the top. */
export function goProgram(folder = FOLDER): string | undefined {
  const program = join(CACHE, digestOf(folder));
  if (existsSync(program)) return program;
  const missing = buildInto(program, folder);
  if (missing === undefined) return program;
  process.stderr.write(`\nThe real clients in ${folder} are SKIPPED: ${missing}\n\n`);
  return undefined;
}

function digestOf(folder: string): string {
  const digest = createHash('sha256');
  for (const name of readdirSync(folder).sort()) {
    digest.update(`${name}\0`).update(readFileSync(join(folder, name)));
  }
  return digest.digest('hex').slice(0, 16);
}

/** Returns why not. The name is taken at the end: others may build the same meanwhile. */
function buildInto(program: string, folder: string): string | undefined {
  if (spawnSync('go', ['version']).status !== 0) return 'there is no Go';
  mkdirSync(CACHE, { recursive: true });
  const unfinished = `${program}.${process.pid}`;
  const { status, stderr } = spawnSync(
    'go',
    ['build', '-buildvcs=false', '-ldflags=-s -w', '-o', unfinished, '.'],
    { cwd: folder, encoding: 'utf8', timeout: buildLimit() },
  );
  if (status !== 0) return `they cannot be built here\n${stderr}`;
  renameSync(unfinished, program);
  return undefined;
}

/** The ordinary tests wait as long as they may; whoever asks for the clients waits for them. */
function buildLimit(): number {
  return process.env['GITPLANE_CLIENTS'] === undefined ? 240_000 : 1_800_000;
}

export interface Running {
  /** Everything it said so far, in order. */
  readonly verdicts: readonly Verdict[];
  /** Sends a line. */
  tell(line: string): void;
  /** Resolves when a verdict of that claim, or with that key, is there; rejects when the program ends. */
  until(is: (verdict: Verdict) => boolean): Promise<Verdict>;
  /** Ends its input, and resolves with its exit code. */
  end(): Promise<number | null>;
  /** SIGKILL, unless another is said. */
  kill(signal?: NodeJS.Signals): void;
}

export function start(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const child: ChildProcessWithoutNullStreams = spawn(program, args, {
    env: { ...process.env, ...env },
  });
  const verdicts: Verdict[] = [];
  const waiting = new Set<() => void>();
  let errors = '';
  let code: number | null | undefined;
  const look = (): void => {
    for (const one of waiting) one();
  };
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk).slice(-20_000);
  });
  child.stdin.on('error', () => undefined);
  createInterface({ input: child.stdout }).on('line', (line) => {
    verdicts.push(JSON.parse(line) as Verdict);
    look();
  });
  child.on('error', (error) => {
    errors += error.message;
  });
  child.on('close', (status) => {
    code = status;
    look();
  });
  return {
    verdicts,
    tell: (line) => child.stdin.write(`${line}\n`),
    until: (is) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const found = verdicts.find(is);
          if (found === undefined && code === undefined) return;
          waiting.delete(check);
          if (found !== undefined) resolve(found);
          else reject(new Error(`${args[0]} ended with ${code}:\n${errors}`));
        };
        waiting.add(check);
        check();
      }),
    end: () =>
      new Promise((resolve) => {
        child.stdin.end();
        const check = (): void => {
          if (code === undefined) return;
          waiting.delete(check);
          resolve(code);
        };
        waiting.add(check);
        check();
      }),
    kill: (signal = 'SIGKILL') => void child.kill(signal),
  };
}

/** Runs it to its end; the claims that do not hold. */
export async function failedClaims(program: string, args: readonly string[]): Promise<Verdict[]> {
  const running = start(program, args);
  const code = await running.end();
  const failed = running.verdicts.filter(({ error }) => error !== undefined);
  return code === 0 ? failed : [...failed, { claim: `${args[0]} ends with 0`, error: `${code}` }];
}
