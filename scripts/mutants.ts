/**
 * Mutation tests by sample: `npm run mutants -- [module…] [--count n]` changes one expression at a
 * time in a copy of the tree and runs the tests of its module there. A mutant that every test
 * passes has survived. GITPLANE_TEST_SEED draws another sample, without the mutants of
 * `equivalent-mutants.ts`. The exit status is 1 below 95% killed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { randomFrom } from '../test/support/random.ts';
import { isEquivalent } from './equivalent-mutants.ts';
import { type Mutation, mutationsIn } from './mutations.ts';

const ROOT = join(import.meta.dirname, '..');
const COPIED = ['src', 'test', 'schemas', 'scripts', 'examples'].concat([
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
]);
const WANTED = 0.95;

interface Module {
  readonly files: readonly string[];
  /** Quick ones first: the first that fails ends the run of a mutant. */
  readonly tests: readonly string[];
}

/** Modules that promise something, and the tests that hold them to it. */
const MODULES: Readonly<Record<string, Module>> = {
  wal: {
    files: ['wal-file', 'wal-format', 'wal-keeper', 'wal-replay', 'wal-checkpoint'].map(
      (name) => `git/wal/${name}`,
    ),
    tests: [
      'wal-format',
      'wal-file',
      'wal-keeper',
      'wal-checkpoint',
      'wal-replay',
      'checkpoint',
      'wal-publisher',
    ].map((name) => `git/wal/${name}`),
  },
  journal: {
    files: ['state/journal/journal', 'state/journaled-store'],
    tests: [
      'journal/journal',
      'journaled-store-opening',
      'following/following-store',
      'store-laws',
      'redo/redo-log',
      'journaled-store',
    ].map((name) => `state/${name}`),
  },
  fold: {
    files: [
      'apply-commit',
      'affected-objects',
      'owner-bindings',
      'last-good-version',
      'identity',
      'undo-log',
      'overlay-map',
    ].map((name) => `catalog/${name}`),
    tests: ['overlay-map', 'owner-bindings', 'catalog', 'merges', 'histories'].map(
      (name) => `catalog/${name}`,
    ),
  },
  grants: {
    files: [
      'escalation/delegation',
      'escalation/escalation',
      'scope/permits',
      'rbac/scoped-authorizer',
      'rbac/authorizer',
    ].map((name) => `auth/${name}`),
    tests: ['delegation', 'escalation', 'scope', 'authorizer', 'authorization-matrix'].map(
      (name) => `auth/${name}`,
    ),
  },
  merge: {
    files: ['field-management/walk', 'field-management/manage', 'secrets-merge/decide'],
    tests: ['walk', 'manage', 'structured-merge']
      .map((name) => `field-management/${name}`)
      .concat(['secrets-merge/core', 'secrets-merge/sync-object', 'secrets-merge/model']),
  },
  editor: {
    files: ['align', 'entries', 'match', 'plan', 'replace', 'slots', 'splice', 'stream'].map(
      (name) => `manifests/edit/${name}`,
    ),
    tests: ['align', 'splice', 'edit', 'edit-lists', 'edit-stream', 'edit-laws'].map(
      (name) => `manifests/${name}`,
    ),
  },
  replication: {
    files: [
      'last-acknowledged-commit',
      'read-index',
      'read-lease',
      'repository-log',
      'log-record',
    ].map((name) => `replication/${name}`),
    tests: [
      'last-acknowledged-commit',
      'log-record',
      'read-index',
      'read-lease',
      'log-deadlines',
      'replica-coordination',
      'repository',
    ].map((name) => `replication/${name}`),
  },
};

type Verdict = 'killed' | 'survived' | 'timed out';

const { values, positionals } = parseArgs({
  options: { count: { type: 'string', default: '10' } },
  allowPositionals: true,
});
const perModule = Number(values.count);
if (!Number.isInteger(perModule) || perModule < 1) throw new Error('--count takes a number from 1');
const seed = seedOf(process.env['GITPLANE_TEST_SEED'] ?? '2026');
const copy = mkdtempSync(join(tmpdir(), 'gitplane-mutants-'));
/** The tests that run now. */
let running: number | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    if (running !== undefined) process.kill(-running, 'SIGKILL');
    rmSync(copy, { recursive: true, force: true });
    process.exit(1);
  });
}
try {
  process.exitCode = await main(positionals.length > 0 ? positionals : Object.keys(MODULES));
} finally {
  rmSync(copy, { recursive: true, force: true });
}

function seedOf(wanted: string): number {
  return wanted === 'random' ? Date.now() % 1_000_000 : Number(wanted);
}

async function main(names: readonly string[]): Promise<number> {
  for (const part of COPIED) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  mkdirSync(join(copy, 'tmp'));
  console.log(`GITPLANE_TEST_SEED=${seed}, ${perModule} mutants per module`);
  let [total, survived] = [0, 0];
  for (const name of names) {
    const module = MODULES[name];
    if (module === undefined) throw new Error(`No module ${name}: ${Object.keys(MODULES)}`);
    for (const verdict of await judge(name, module)) {
      total += 1;
      if (verdict === 'survived') survived += 1;
    }
  }
  console.log(`${total - survived} of ${total} killed`);
  return survived <= (1 - WANTED) * total ? 0 : 1;
}

async function judge(name: string, module: Module): Promise<readonly Verdict[]> {
  const started = Date.now();
  for (const test of module.tests) {
    if (!(await passes(test, 600_000)).ok) {
      throw new Error(`test/${test}.test.ts fails without a mutation: run it with vitest`);
    }
  }
  const limitMs = 30_000 + 4 * (Date.now() - started);
  console.log(`${name}: ${module.files.length} files, tests take ${Date.now() - started} ms`);
  const verdicts: Verdict[] = [];
  for (const mutation of sampleOf(module)) {
    const verdict = await verdictOf(mutation, module.tests, limitMs);
    const { file, line, scope, from, to } = mutation;
    console.log(`${verdict.padEnd(9)} src/${file}:${line} ${scope}\n  - ${from}\n  + ${to}`);
    verdicts.push(verdict);
  }
  return verdicts;
}

function sampleOf({ files }: Module): readonly Mutation[] {
  const all = mutationsIn(files);
  const judged = all.filter((mutation) => !isEquivalent(mutation));
  console.log(`${all.length - judged.length} of ${all.length} mutants are known to change nothing`);
  const random = randomFrom(seed);
  return judged
    .map((mutation) => ({ mutation, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, perModule)
    .map(({ mutation }) => mutation);
}

async function verdictOf(
  mutation: Mutation,
  tests: readonly string[],
  limitMs: number,
): Promise<Verdict> {
  const path = join(copy, 'src', mutation.file);
  const original = readFileSync(path, 'utf8');
  const { start, end, after } = mutation;
  writeFileSync(path, original.slice(0, start) + after + original.slice(end));
  try {
    for (const test of tests) {
      const { ok, isLate } = await passes(test, limitMs);
      if (isLate) return 'timed out';
      if (!ok) return 'killed';
    }
    return 'survived';
  } finally {
    writeFileSync(path, original);
  }
}

/** A mutant may loop or fill the memory: what the tests started ends with them. */
async function passes(test: string, limitMs: number): Promise<{ ok: boolean; isLate: boolean }> {
  const args = [join('node_modules', 'vitest', 'vitest.mjs'), 'run', '--bail', '1'];
  const child = spawn(process.execPath, [...args, `test/${test}.test.ts`], {
    cwd: copy,
    env: {
      ...process.env,
      GITPLANE_TEST_SEED: '2026',
      NODE_OPTIONS: '--max-old-space-size=1024',
      TMPDIR: join(copy, 'tmp'),
    },
    stdio: 'ignore',
    detached: true,
  });
  running = child.pid;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    process.kill(-(child.pid as number), 'SIGKILL');
  }, limitMs);
  const [status] = await once(child, 'exit');
  running = undefined;
  clearTimeout(timer);
  return { ok: status === 0, isLate };
}
