/**
 * The Go programs beside this file, each built once for each state of its sources: in the cache of the
 * user, since it takes minutes where nothing of it was ever compiled. Undefined, with a loud line, where
 * there is no Go or a module cannot be downloaded.
 */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';

const FOLDER = join(import.meta.dirname, 'go');
export const CLIENT_CACHE = join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  'gitplane/clients',
);

/** What the program said of one claim; `error` where it does not hold. */
export interface Verdict {
  readonly claim?: string;
  readonly error?: string;
  readonly waiting?: string;
  readonly following?: number;
  readonly leading?: string;
  readonly listening?: string;
  /** A commit that it has read. */
  readonly read?: string;
}

/** Time limit of a program, for one that hangs. */
const RUN_LIMIT_MS = 1_200_000;
/** Memory that the garbage collectors of Go keep to. */
const MEMORY = { run: { GOMEMLIMIT: '1GiB' }, build: { GOMEMLIMIT: '4GiB' } };

export interface GoModule {
  /** Folder of the module; the clients of this folder unless given. */
  readonly folder?: string;
  /** Package with the program; the one at the top of the module unless given. */
  readonly main?: string;
  /** Name of the file of requirements that is read in place of `go.mod`. */
  readonly requirements?: string;
  readonly tags?: string;
}

/** Path of the built program. */
export function goProgram(module: GoModule = {}): string | undefined {
  const program = join(CLIENT_CACHE, digestOf(module));
  if (existsSync(program)) return program;
  const missing = buildInto(program, module);
  if (missing === undefined) return program;
  const { folder = FOLDER, requirements = 'go.mod' } = module;
  process.stderr.write(`\nThe clients of ${folder}/${requirements} are SKIPPED: ${missing}\n\n`);
  return undefined;
}

function digestOf({ folder = FOLDER, ...how }: GoModule): string {
  const digest = createHash('sha256').update(JSON.stringify(how));
  for (const name of readdirSync(folder).sort()) {
    digest.update(`${name}\0`).update(readFileSync(join(folder, name)));
  }
  return digest.digest('hex').slice(0, 16);
}

/** Returns the reason of a failure. The file is renamed at the end: another process may build the same. */
function buildInto(program: string, module: GoModule): string | undefined {
  if (spawnSync('go', ['version']).status !== 0) return 'there is no Go';
  mkdirSync(CLIENT_CACHE, { recursive: true });
  const { folder = FOLDER, main = '.', requirements = 'go.mod', tags = '' } = module;
  const unfinished = `${program}.${process.pid}`;
  const { status, stderr } = spawnSync(
    'go',
    [
      ...['build', '-buildvcs=false', '-ldflags=-s -w', `-modfile=${requirements}`],
      ...[`-tags=${tags}`, '-o', unfinished, main],
    ],
    {
      cwd: folder,
      encoding: 'utf8',
      timeout: buildLimit(),
      env: { ...process.env, ...MEMORY.build },
    },
  );
  if (status !== 0) return `the build failed\n${stderr}`;
  renameSync(unfinished, program);
  return undefined;
}

/** The ordinary tests wait as long as they may; a run of the clients waits for them. */
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
    env: { ...process.env, ...MEMORY.run, ...env },
    timeout: RUN_LIMIT_MS,
    killSignal: 'SIGKILL',
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
export async function failedClaims(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Verdict[]> {
  return await failedClaimsOf(start(program, args, env), basename(program));
}

/** Ends the input of a program and waits for its end; the claims that do not hold. */
export async function failedClaimsOf(running: Running, name: string): Promise<Verdict[]> {
  const code = await running.end();
  const failed = running.verdicts.filter(({ error }) => error !== undefined);
  if (code === 0 && running.verdicts.length > 0) return failed;
  return [...failed, { claim: `${name} makes claims and ends with 0`, error: `${code}` }];
}
