/** `gitplane validate`: what a push of the files on disk would be told, without a daemon. */
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { Catalog, type FileEntry, fileReader, refuseClear } from '../catalog/index.ts';
import { buildKindTable } from '../kinds/index.ts';
import { IGNORE_FILE, type Problem, pathFilter, SOPS_CONFIG } from '../manifests/index.ts';
import { type ParsedOptions, readChoice, UsageError } from '../options/index.ts';
import { sopsConfigProblems } from '../sealing/index.ts';
import { manifestPaths } from './manifest-paths.ts';
import { type Finding, formatReport, REPORT_FORMATS } from './report.ts';
import { keyringOf } from './sealed-tree.ts';

export interface Output {
  write(text: string): void;
}

/** Resolves to the exit status: 1 when there are errors. Throws UsageError for wrong words. */
export async function validate(options: ParsedOptions, out: Output): Promise<number> {
  const format = readChoice(options, 'format', REPORT_FORMATS);
  const targets = (options.operands.length > 0 ? options.operands : ['.']).map((path) =>
    resolve(path),
  );
  const root = await rootOf(targets);
  const files = await readAll(root, options);
  const findings = [...(await configFindings(root, targets)), ...findingsIn(files, root, targets)];
  const read = files.filter(({ path }) => isUnder(join(root, path), targets)).length;
  const text = formatReport(format, findings, read);
  if (text !== '') out.write(`${text}\n`);
  return findings.some(({ severity }) => severity === 'error') ? 1 : 0;
}

/** The work tree that holds the targets, so that objects of other folders are seen as well. */
async function rootOf(targets: readonly string[]): Promise<string> {
  const [first = process.cwd()] = targets;
  for (const target of targets) {
    if (!existsSync(target))
      throw new UsageError(`Cannot read ${target}: no such file or directory`);
  }
  const start = (await stat(first)).isDirectory() ? first : dirname(first);
  let folder = start;
  while (!existsSync(join(folder, '.git')) && !existsSync(join(folder, IGNORE_FILE))) {
    const parent = dirname(folder);
    if (parent === folder) return start;
    folder = parent;
  }
  return targets.every((target) => isUnder(target, [folder])) ? folder : start;
}

async function readAll(root: string, options: ParsedOptions): Promise<FileEntry[]> {
  const ignoreFile = join(root, IGNORE_FILE);
  const ignoreText = existsSync(ignoreFile) ? await readFile(ignoreFile, 'utf8') : undefined;
  const kinds = buildKindTable(options.required('api-group'));
  // As the daemon has it: secrets in the clear are refused where there is a .sops.yaml.
  const seals = existsSync(join(root, SOPS_CONFIG));
  const reader = fileReader(kinds, '', { keyring: await keyringOf(options), mindsClear: seals });
  const files: FileEntry[] = [];
  for await (const path of manifestPaths(root, pathFilter('', ignoreText))) {
    const content = await readFile(join(root, path));
    await reader.prepare([content]);
    files.push(refuseClear(reader.read(path, path, content)));
  }
  return files;
}

/** As the daemon refuses a push of it; whether a rule names the platform is known there alone. */
async function configFindings(root: string, targets: readonly string[]): Promise<Finding[]> {
  const file = join(root, SOPS_CONFIG);
  if (!existsSync(file) || !isUnder(file, targets)) return [];
  const problems = await sopsConfigProblems(await readFile(file, 'utf8'), undefined);
  return problems.map((problem) => ({ path: shownPath(file), ...problem, severity: 'error' }));
}

function findingsIn(
  files: readonly FileEntry[],
  root: string,
  targets: readonly string[],
): Finding[] {
  const catalog = new Catalog('');
  const commit = { id: '0'.repeat(40), committerTime: 0 };
  catalog.advance({ commit, files: new Map(files.map((file) => [file.path, file])) });
  // Whoever has no key can check all but the values.
  const severity = ({ unreadable }: Problem) => (unreadable === true ? 'warning' : 'error');
  const errors = catalog
    .problems()
    .map((problem): Finding => ({ ...problem, severity: severity(problem) }));
  const warnings = files.flatMap((file) =>
    file.documents.flatMap((document) =>
      document.warnings.map((warning) => ({ ...warning, severity: 'warning' as const })),
    ),
  );
  return [...errors, ...warnings]
    .filter(({ path }) => isUnder(join(root, path), targets))
    .map((finding) => ({ ...finding, path: shownPath(join(root, finding.path)) }));
}

function isUnder(path: string, folders: readonly string[]): boolean {
  return folders.some(
    (folder) => path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep),
  );
}

/** As seen from where the command runs, so that terminals and editors can open it. */
function shownPath(path: string): string {
  const shown = relative(process.cwd(), path);
  return shown.startsWith('..') ? path : shown.split(sep).join('/');
}
