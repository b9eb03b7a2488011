/** `gitplane validate`: the verdict of a push of files, or of a commit, without a daemon. */
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import {
  Catalog,
  type FileEntry,
  type FileReader,
  fileReader,
  readPaths,
  refuseClear,
} from '../catalog/index.ts';
import type { TreeFile } from '../git/index.ts';
import { buildKindTable } from '../kinds/index.ts';
import {
  IGNORE_FILE,
  type Problem,
  pathFilter,
  relativeTo,
  SOPS_CONFIG,
} from '../manifests/index.ts';
import { type ParsedOptions, readChoice, UsageError } from '../options/index.ts';
import { sopsConfigProblems } from '../sealing/index.ts';
import { type CommittedFiles, committedFiles } from './committed-files.ts';
import { manifestPaths } from './manifest-paths.ts';
import type { Output } from './print.ts';
import { type Finding, formatReport, REPORT_FORMATS } from './report.ts';
import { keyringOf } from './sealed-tree.ts';

/** Resolves to the exit status: 1 when there are errors. Throws UsageError for wrong words. */
export async function validate(options: ParsedOptions, out: Output): Promise<number> {
  const format = readChoice(options, 'output', REPORT_FORMATS);
  const targets = (options.operands.length > 0 ? options.operands : ['.']).map((path) =>
    resolve(path),
  );
  const { root, files, sopsConfig } = await inputOf(options, targets);
  const findings = [
    ...(await configFindings(join(root, SOPS_CONFIG), sopsConfig, targets)),
    ...findingsIn(files, root, targets),
  ];
  const read = files.filter(({ path }) => isUnder(join(root, path), targets)).length;
  if (read === 0 && findings.length === 0 && !options.isOn('allow-empty')) {
    const names = targets.map(shownPath).join(', ');
    throw new Error(
      `There is no manifest in ${names}: a manifest ends with .yaml or .yml, and is not ignored by ${IGNORE_FILE}; --allow-empty accepts that`,
    );
  }
  const text = formatReport(format, findings, read);
  if (text !== '') out.write(`${text}\n`);
  return findings.some(({ severity }) => severity === 'error') ? 1 : 0;
}

interface Input {
  readonly root: string;
  readonly files: readonly FileEntry[];
  /** Text of `.sops.yaml`; undefined: there is none. */
  readonly sopsConfig: string | undefined;
}

async function inputOf(options: ParsedOptions, targets: readonly string[]): Promise<Input> {
  const committed = await committedFiles(options);
  if (committed === undefined) return await readDisk(await rootOf(targets), options);
  try {
    return await readCommit(committed, options, targets);
  } finally {
    await committed.close();
  }
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

async function readDisk(root: string, options: ParsedOptions): Promise<Input> {
  const textOf = async (name: string): Promise<string | undefined> =>
    existsSync(join(root, name)) ? await readFile(join(root, name), 'utf8') : undefined;
  const sopsConfig = await textOf(SOPS_CONFIG);
  const reader = await readerFor(options, sopsConfig);
  const filter = pathFilter('', await textOf(IGNORE_FILE));
  const files: FileEntry[] = [];
  for await (const path of manifestPaths(root, filter)) {
    const content = await readFile(join(root, path));
    await reader.prepare([content]);
    files.push(refuseClear(reader.read(path, path, content)));
  }
  return { root, files, sopsConfig };
}

async function readCommit(
  committed: CommittedFiles,
  options: ParsedOptions,
  [first = '']: readonly string[],
): Promise<Input> {
  const all = await committed.files();
  const root = platformFolder(committed.root, all, first);
  const under = relative(committed.root, root).split(sep).join('/');
  const textOf = async (name: string): Promise<string | undefined> =>
    (await committed.read(join(root, name)))?.toString('utf8');
  const sopsConfig = await textOf(SOPS_CONFIG);
  const filter = pathFilter('', await textOf(IGNORE_FILE));
  const wanted = all.flatMap((file) => {
    const path = relativeTo(under, file.path);
    return path !== undefined && filter.includes(path) ? [{ ...file, path }] : [];
  });
  const read = await readPaths(committed.source, await readerFor(options, sopsConfig), wanted);
  const files = [...read.values()].flatMap((file) => (file === undefined ? [] : refuseClear(file)));
  return { root, files, sopsConfig };
}

/** The nearest folder around the target with an ignore file; otherwise the whole tree. */
function platformFolder(root: string, files: readonly TreeFile[], target: string): string {
  const names = new Set(files.map(({ path }) => path));
  const isPlatform = (folder: string): boolean =>
    names.has(relative(root, join(folder, IGNORE_FILE)).split(sep).join('/'));
  let folder = isUnder(target, [root]) ? target : root;
  while (folder !== root && !isPlatform(folder)) folder = dirname(folder);
  return folder;
}

/** Secrets in the clear are refused where there is a `.sops.yaml`, as in the daemon. */
async function readerFor(
  options: ParsedOptions,
  sopsConfig: string | undefined,
): Promise<FileReader> {
  const kinds = buildKindTable(options.required('api-group'));
  const keyring = await keyringOf(options);
  return fileReader(kinds, '', { keyring, mindsClear: sopsConfig !== undefined });
}

/** As the daemon refuses a push of it; it alone knows whether a rule names the platform. */
async function configFindings(
  file: string,
  text: string | undefined,
  targets: readonly string[],
): Promise<Finding[]> {
  if (text === undefined || !isUnder(file, targets)) return [];
  const problems = await sopsConfigProblems(text, undefined);
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
  // Without a key, everything but the values can be checked.
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
  return shown === '' || shown.startsWith('..') ? path : shown.split(sep).join('/');
}
