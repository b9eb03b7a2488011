/**
 * `gitplane plan REV`: what a commit would bring compared with the branch, from a repository on
 * disk and without a daemon. It is judged as a push by path would be: signatures and the rights of
 * users are the daemon's to know.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock, terminalJson, terminalText } from '../apimachinery/index.ts';
import { fileReader } from '../catalog/index.ts';
import {
  gitDirOf,
  type OpenedReader,
  openReader,
  type Repository,
  readOnlyRepository,
  realFiles,
  replayWal,
  silent,
} from '../git/index.ts';
import { type ComputeEffects, type Plan, planOf, withEffects } from '../history/index.ts';
import { buildKindTable, type KindTable } from '../kinds/index.ts';
import { normalizeFolder } from '../manifests/index.ts';
import { type ParsedOptions, readChoice, readNumber, UsageError } from '../options/index.ts';
import { Branch, PushJudge } from '../registry/index.ts';
import { MemoryEngine, openStore, sealingCodec } from '../state/index.ts';
import { commitNamed } from './committed-files.ts';
import { effectsOnInput } from './plan-effects.ts';
import { formatPlan } from './plan-text.ts';
import type { Output } from './print.ts';
import { keyringOf } from './sealed-tree.ts';

/** Resolves to the exit status: 1 when the commit has problems or would be held. */
export async function plan(
  options: ParsedOptions,
  out: Output,
  stdin: NodeJS.ReadableStream = process.stdin,
): Promise<number> {
  const format = readChoice(options, 'output', ['text', 'json']);
  const [expression, ...others] = options.operands;
  if (expression === undefined || others.length > 0) {
    throw new UsageError('Say which commit, as in: gitplane plan HEAD');
  }
  const gitDir = gitDirOf(placeOf(options));
  await replayWal(gitDir, { files: realFiles, logger: silent, isOwn: false });
  const maxPaths = readNumber(options, 'push-max-paths', { least: 1 });
  const reader = await openReader(gitDir, { maxPaths });
  const effects = await effectsOnInput(options, stdin);
  try {
    const to = await commitNamed(reader, expression, gitDir);
    const head = await baseOf(reader, gitDir, options);
    const ref = `refs/heads/${options.required('branch')}`;
    const repository = readOnlyRepository(reader, { gitDir, ref, head });
    const made = await planFor(repository, to, {
      options,
      computeEffects: effects?.computeEffects,
    });
    const text = format === 'json' ? terminalJson(made) : terminalText(formatPlan(made));
    out.write(`${text}\n`);
    return made.verdict === 'accepted' ? 0 : 1;
  } finally {
    await effects?.close();
    await reader.close();
  }
}

/** The repository of `--repo-dir`, otherwise that of a daemon, otherwise the current folder. */
function placeOf(options: ParsedOptions): string {
  const named = options.text('repo-dir');
  if (named !== undefined) return named;
  const hosted = join(options.required('data-dir'), 'repo.git');
  return existsSync(hosted) ? hosted : '.';
}

/** Commit of `--base`, otherwise of the branch as last fetched, otherwise of the local branch. Undefined: no commit yet. */
async function baseOf(
  reader: OpenedReader,
  gitDir: string,
  options: ParsedOptions,
): Promise<string | undefined> {
  const base = options.text('base');
  if (base !== undefined) return await commitNamed(reader, base, gitDir);
  const branch = options.required('branch');
  return (
    (await reader.resolve(`refs/remotes/origin/${branch}`)) ??
    (await reader.resolve(`refs/heads/${branch}`))
  );
}

async function planFor(
  repository: Repository,
  to: string,
  {
    options,
    computeEffects,
  }: { options: ParsedOptions; computeEffects: ComputeEffects | undefined },
): Promise<Plan> {
  const kinds = buildKindTable(options.required('api-group'));
  const judge = await judgeOf(repository, kinds, options);
  const dryRun = await judge.dryRun({ to, source: repository });
  const made = await planOf(kinds, to, dryRun);
  if (computeEffects === undefined) return made;
  const changes = await withEffects(made.changes, { kinds, effect: dryRun, computeEffects });
  return { ...made, changes };
}

/** A platform in memory, at the base. */
async function judgeOf(
  repository: Repository,
  kinds: KindTable,
  options: ParsedOptions,
): Promise<PushJudge> {
  const under = normalizeFolder(options.required('path'));
  const keyring = await keyringOf(options);
  const store = await openStore({
    engine: new MemoryEngine(),
    // Nothing is persisted.
    codec: sealingCodec(Buffer.alloc(32), () => false),
    onError: (error) => {
      throw error;
    },
  });
  const ignore = (): void => undefined;
  const parts = { repository, store, kinds, under, clock: systemClock };
  const branch = await Branch.open({
    ...parts,
    reader: fileReader(kinds, under, { keyring, mindsClear: true }),
    rules: '',
    observer: { published: ignore, applied: ignore, replayed: ignore },
    budget: {
      objects: Number(options.required('prune-budget-objects')),
      percent: Number(options.required('prune-budget-percent')),
    },
  });
  const authorizer = { authorize: () => ({ allowed: true, reason: '' }) };
  return new PushJudge({ ...parts, branch, authorizer, guards: [] });
}
