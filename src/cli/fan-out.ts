/** `gitplane repo fan-out`: spreads the manifests of full folders over fan-out folders, in one commit. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, rename, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { encodePath, parseFileList, type TreeFile } from '../git/index.ts';
import {
  fanOutMoves,
  IGNORE_FILE,
  type Move,
  normalizeFolder,
  type PathFilter,
  pathFilter,
  SOPS_CONFIG,
} from '../manifests/index.ts';
import { ENVIRONMENT, type ParsedOptions, UsageError } from '../options/index.ts';
import { creationRuleFor, parseSopsConfig } from '../sealing/index.ts';
import { type Output, print } from './print.ts';

/** Size limit for the output of git, such as the file list of a large repository. */
const MAX_OUTPUT_BYTES = 1024 * 1024 * 1024;
const SHOWN_MOVES = 20;

/** A tree and the folder in which git runs. */
interface Source {
  readonly cwd: string;
  readonly revision: string;
  /** True: the commit goes to the current branch of the work tree. */
  readonly isCheckout: boolean;
  /** Folder whose files move, below the root. */
  readonly folder: string;
}

interface Plan {
  readonly moves: readonly Move[];
  /** Input of `git update-index -z --index-info`. */
  readonly index: Buffer;
  readonly message: string;
}

export async function repo(options: ParsedOptions, out: Output): Promise<number> {
  const [action, folder = '.', ...more] = options.operands;
  if (action !== 'fan-out' || more.length > 0) {
    throw new UsageError('Write: gitplane repo fan-out [DIR]');
  }
  const source = sourceOf(folder, options.text('rev'));
  const plan = planOf(source, normalizeFolder(options.required('path')));
  const isDone = plan.moves.length > 0 && !options.isOn('dry-run');
  const commit = isDone ? await carryOut(source, plan) : undefined;
  const { moves } = plan;
  print(options, out, { text: textOf(moves, commit), json: { moves, commit } });
  return 0;
}

function sourceOf(folder: string, revision: string | undefined): Source {
  const here = process.cwd();
  if (revision !== undefined) {
    return { cwd: here, revision, isCheckout: false, folder: normalizeFolder(folder) };
  }
  const cwd = text(here, ['rev-parse', '--show-toplevel']);
  const inner = relative(cwd, resolve(folder)).split(sep).join('/');
  return { cwd, revision: 'HEAD', isCheckout: true, folder: normalizeFolder(inner) };
}

function planOf({ cwd, revision, folder }: Source, under: string): Plan {
  const listed = git(cwd, ['ls-tree', '-r', '-z', '--full-tree', revision]);
  const files = new Map(parseFileList(listed).map((file) => [file.path, file]));
  const read = (path: string): string | undefined =>
    files.has(path) ? git(cwd, ['cat-file', 'blob', `${revision}:${path}`]).toString() : undefined;
  const filter = pathFilter(under, read(under === '' ? IGNORE_FILE : `${under}/${IGNORE_FILE}`));
  const includes = (path: string): boolean =>
    filter.includes(path) && files.get(path)?.mode.startsWith('100') === true;
  const moves = fanOutMoves([...files.keys()], { under, folder, filter: { ...filter, includes } });
  refuseLosses(moves, { files, filter, config: read(SOPS_CONFIG) });
  const index = moves.flatMap(({ from, to }) => {
    const { mode = '', id = '' } = files.get(from) ?? {};
    return [indexLine(`0 ${'0'.repeat(40)}`, from), indexLine(`${mode} ${id}`, to)];
  });
  return { moves, index: Buffer.concat(index), message: messageOf(moves) };
}

function indexLine(entry: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${entry}\t`), encodePath(path), Buffer.of(0)]);
}

function messageOf(moves: readonly Move[]): string {
  const [first = '', ...others] = new Set(moves.map(({ from }) => dirname(from)));
  const more = others.length === 0 ? '' : ` and ${others.length} more folders`;
  return `Fan out ${first}${more}\n\nMoves ${moves.length} manifests and changes none of them.`;
}

/** A move must not overwrite a file, hide a manifest, or change who can decrypt a secret later. */
function refuseLosses(
  moves: readonly Move[],
  of: {
    readonly files: ReadonlyMap<string, TreeFile>;
    readonly filter: PathFilter;
    readonly config: string | undefined;
  },
): void {
  const config = of.config === undefined ? undefined : parseSopsConfig(of.config);
  for (const { from, to } of moves) {
    if (of.files.has(to)) throw new UsageError(`Cannot move ${from}: ${to} exists; merge the two`);
    if (!of.filter.includes(to)) {
      throw new UsageError(`Cannot move ${from}: ${IGNORE_FILE} covers ${to}`);
    }
    if (config && creationRuleFor(config, from) !== creationRuleFor(config, to)) {
      throw new UsageError(
        `Cannot move ${from}: another rule of ${SOPS_CONFIG} matches ${to}; make one path_regex match both`,
      );
    }
  }
}

/** Resolves to the id of the commit. */
async function carryOut(source: Source, plan: Plan): Promise<string> {
  const { cwd, revision } = source;
  if (!source.isCheckout) return commitOn(source, plan);
  if (text(cwd, ['diff', '--cached', '--name-only']) !== '') {
    throw new UsageError('There are staged changes: commit or unstage them first');
  }
  const moved: Move[] = [];
  try {
    for (const move of plan.moves) {
      await moveFile(cwd, move);
      moved.push(move);
    }
    git(cwd, ['update-index', '-z', '--index-info'], { input: plan.index });
    git(cwd, ['commit', '--quiet', '-m', plan.message]);
  } catch (error) {
    for (const { from, to } of moved.reverse()) {
      await moveFile(cwd, { from: to, to: from }).catch(() => undefined);
      await rmdir(dirname(join(cwd, to))).catch(() => undefined);
    }
    git(cwd, ['reset', '--quiet']);
    throw error;
  }
  return text(cwd, ['rev-parse', revision]);
}

async function moveFile(root: string, { from, to }: Move): Promise<void> {
  await mkdir(dirname(join(root, to)), { recursive: true });
  await rename(join(root, from), join(root, to));
}

/** A commit on top of a revision, to which no ref points yet. */
function commitOn({ cwd, revision }: Source, { index, message }: Plan): string {
  const folder = mkdtempSync(join(tmpdir(), 'gitplane-index-'));
  const env = { GIT_INDEX_FILE: join(folder, 'index') };
  try {
    const parent = text(cwd, ['rev-parse', '--verify', `${revision}^{commit}`]);
    git(cwd, ['read-tree', parent], { env });
    git(cwd, ['update-index', '-z', '--index-info'], { env, input: index });
    const tree = git(cwd, ['write-tree'], { env }).toString().trim();
    return text(cwd, ['commit-tree', '-p', parent, '-m', message, tree]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function text(cwd: string, args: readonly string[]): string {
  return git(cwd, args).toString().trim();
}

/** Runs git with the config of the user: author, signature and hooks are those of any commit. */
function git(
  cwd: string,
  args: readonly string[],
  { input = '', env = {} }: { input?: string | Buffer; env?: typeof ENVIRONMENT } = {},
): Buffer {
  const options = { cwd, input, env: { ...ENVIRONMENT, ...env }, maxBuffer: MAX_OUTPUT_BYTES };
  const { status, stdout, stderr, error } = spawnSync('git', args, options);
  if (status === 0) return stdout;
  throw new UsageError(`git ${args[0]} failed: ${error?.message ?? stderr.toString().trim()}`);
}

function textOf(moves: readonly Move[], commit: string | undefined): string {
  if (moves.length === 0) return 'No folder is full: nothing to move\n';
  const shown = moves.slice(0, SHOWN_MOVES).map(({ from, to }) => `${from} → ${to}`);
  const rest = moves.length - shown.length;
  if (rest > 0) shown.push(`… and ${rest} more`);
  const result =
    commit === undefined
      ? `would move ${moves.length} files`
      : `commit ${commit} moves ${moves.length} files`;
  return `${[...shown, result].join('\n')}\n`;
}
