/**
 * Control files in a push: those that its commits touch, and the problems of their contents. The
 * pusher's right to change them is checked in `push-objections.ts`.
 */
import { flatMapYielding } from '../../apimachinery/index.ts';
import type { TreeView } from '../../catalog/index.ts';
import {
  changedPaths,
  GitError,
  type HistoryCommit,
  type MergeSource,
  ownPaths,
  type Repository,
} from '../../git/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import {
  decodeUtf8,
  defaultPath,
  IGNORE_FILE,
  ignorePatterns,
  isControlFile,
  LARGEST_IGNORE_FILE,
  type Problem,
  relativeTo,
} from '../../manifests/index.ts';
import { rulesFor, sopsConfigProblems } from '../../sealing/index.ts';
import { LEAVE_NAMES, selectsNames } from '../writes/rule-places.ts';
import type { Sealer } from '../writes/sealer.ts';

/**
 * Control files that a commit itself changes. A merge does not count the changes of its parents.
 */
export async function controlFilesOf(
  source: MergeSource,
  commit: HistoryCommit,
  under: string,
): Promise<readonly string[]> {
  const paths = await flatMapYielding(changedPaths(commit), (path) =>
    isControlFile(under, path) ? [path] : [],
  );
  return paths.length === 0 ? paths : await ownPaths(source, commit, paths);
}

export interface ControlFileContext {
  readonly repository: Pick<Repository, 'readBlobs'>;
  readonly under: string;
  readonly kinds: KindTable;
  readonly sealer?: Sealer | undefined;
}

/** Problems of the `.sops.yaml` files and the ignore file among the paths, in one tree. */
export async function configProblems(
  context: ControlFileContext,
  view: TreeView,
  paths: readonly string[],
): Promise<Problem[]> {
  const problems = await ignoreProblems(context, view, paths);
  for (const [path, blob] of Object.entries(view.sealing?.configs ?? {})) {
    if (!paths.includes(path)) continue;
    const read = await textOf(context, path, blob);
    if (typeof read !== 'string') {
      problems.push(read);
      continue;
    }
    const found = await sopsConfigProblems(
      read,
      await context.sealer?.recipients(),
      context.sealer?.pgpKeys,
    );
    for (const problem of found) problems.push({ path, ...problem });
  }
  return problems;
}

async function ignoreProblems(
  context: ControlFileContext,
  { ignoreBlob }: TreeView,
  paths: readonly string[],
): Promise<Problem[]> {
  const path = ignorePathOf(context);
  if (ignoreBlob === undefined || !paths.includes(path)) return [];
  const text = await textOf(context, path, ignoreBlob);
  if (typeof text !== 'string') return [text];
  const bytes = Buffer.byteLength(text);
  if (bytes <= LARGEST_IGNORE_FILE) return [];
  const message = `The file has ${bytes} bytes; the limit is ${LARGEST_IGNORE_FILE}, and a larger one ignores nothing`;
  return [{ path, line: 1, col: 1, message }];
}

function ignorePathOf({ under }: ControlFileContext): string {
  return under === '' ? IGNORE_FILE : `${under}/${IGNORE_FILE}`;
}

/**
 * Default paths of new objects that a changed ignore file covers: the API cannot create objects
 * there.
 */
export async function ignoreWarnings(
  context: ControlFileContext,
  view: TreeView,
  paths: readonly string[],
): Promise<Problem[]> {
  const { under } = context;
  const path = ignorePathOf(context);
  if (view.ignoreBlob === undefined || !paths.includes(path)) return [];
  const covered = examplesOf(context).filter(({ place }) => !view.includes(place));
  if (covered.length === 0) return [];
  const text = await textOf(context, path, view.ignoreBlob);
  const patterns = ignorePatterns(typeof text === 'string' ? text : '');
  return covered.map(({ plural, place }) => {
    const line = patterns.lineOf(relativeTo(under, place) ?? place) + 1;
    const message = `covers ${place}, where new ${plural} go: the API cannot create them`;
    return { path, line: Math.max(line, 1), col: 1, message };
  });
}

/** A path where the API puts a new object of each kind. */
function examplesOf({
  kinds,
  under,
}: ControlFileContext): { readonly plural: string; readonly place: string }[] {
  return kinds.kinds
    .filter(({ storedIn }) => storedIn === 'git')
    .map(({ plural, scope }) => {
      const object = { namespace: scope === 'Namespaced' ? 'default' : '', name: 'example' };
      return { plural, place: defaultPath(under, plural, object) };
    });
}

/**
 * Rules of a changed `.sops.yaml` that encrypt the names of new objects: the API refuses to write
 * objects with values there.
 * A rule may be meant for other files, so that the push is not refused.
 */
export async function namingRuleWarnings(
  context: ControlFileContext,
  view: TreeView,
  paths: readonly string[],
): Promise<Problem[]> {
  let examples = examplesOf(context);
  const warnings: Problem[] = [];
  for (const [path, blob] of Object.entries(view.sealing?.configs ?? {})) {
    const folder = path.split('/').slice(0, -1).join('/');
    // The nearest file decides, also where it has no rule.
    const inner = new Map(examples.map((example) => [relativeTo(folder, example.place), example]));
    examples = examples.filter(({ place }) => relativeTo(folder, place) === undefined);
    const text = paths.includes(path) ? await textOf(context, path, blob) : undefined;
    if (typeof text !== 'string') continue;
    const places = [...inner.keys()].filter((place) => place !== undefined);
    for (const { line, col, rule, paths: ruled } of rulesFor(text, places)) {
      if (!rule.namesFields || !selectsNames(rule.rule)) continue;
      const { name, text: pattern } = rule.rule;
      const plurals = ruled.map((place) => inner.get(place)?.plural ?? '').join(', ');
      const message = `${name}: ${JSON.stringify(pattern)} encrypts the names of ${plurals}: the API refuses to write values there; ${LEAVE_NAMES}`;
      warnings.push({ path, line, col, message });
    }
  }
  return warnings;
}

async function textOf(
  { repository }: ControlFileContext,
  path: string,
  blob: string,
): Promise<string | Problem> {
  try {
    const [content = Buffer.alloc(0)] = await repository.readBlobs([blob]);
    const decoded = decodeUtf8(content);
    return 'text' in decoded ? decoded.text : { path, ...decoded.problem };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return { path, line: 1, col: 1, message: error.message };
  }
}
