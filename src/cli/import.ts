/**
 * `gitplane import`: objects of another management cluster as manifests in the layout of the API,
 * with encrypted secrets and as one commit. Objects that cannot be taken over are reported.
 */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, lstatSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { isRecord, type JsonObject, shownPath } from '../apimachinery/index.ts';
import type { Kind, KindTable } from '../kinds/index.ts';
import { defaultPath, formatManifest, formatProblem, SOPS_CONFIG } from '../manifests/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { convertObject, FOREIGN_GROUPS } from './import-conversion.ts';
import { readObjects } from './objects-input.ts';
import { type Output, print } from './print.ts';
import { SealedTree } from './sealed-tree.ts';

interface ImportInput {
  readonly out: Output;
  readonly stdin: NodeJS.ReadableStream;
}

interface Imported {
  readonly path: string;
  readonly object: string;
}

interface LeftOut {
  readonly object: string;
  readonly reason: string;
}

interface Result {
  readonly imported: Imported[];
  readonly leftOut: LeftOut[];
}

const KUBECTL = { timeout: 120_000, maxBuffer: 256 * 1024 * 1024 };

/** Resolves to the exit status: 1 when nothing could be imported. */
export async function importObjects(
  options: ParsedOptions,
  { out, stdin }: ImportInput,
): Promise<number> {
  const context = options.text('from-context');
  const { operands } = options;
  if ((context === undefined) === (operands.length === 0)) {
    throw new UsageError('Name either files to import, or a cluster with --from-context NAME');
  }
  const root = resolve(options.required('to'));
  if (options.isOn('commit')) requireCleanWorkTree(root);
  await mkdir(root, { recursive: true });
  const tree = await SealedTree.open(options, [root]);
  const objects =
    context === undefined
      ? await readObjects(operands, stdin)
      : await objectsOfContext(tree.kinds, context);
  const result = await new Import(tree, root).run(objects);
  if (options.isOn('commit') && result.imported.length > 0) commit(root, result.imported);
  print(options, out, { text: textOf(result), json: result });
  return result.imported.length > 0 ? 0 : 1;
}

class Import {
  readonly #tree: SealedTree;
  readonly #root: string;
  readonly #result: Result = { imported: [], leftOut: [] };

  constructor(tree: SealedTree, root: string) {
    this.#tree = tree;
    this.#root = root;
  }

  async run(objects: readonly JsonObject[]): Promise<Result> {
    for (const object of objects) {
      const shown = nameOf(object);
      const reason = await this.#import(object, shown);
      if (reason !== undefined) this.#result.leftOut.push({ object: shown, reason });
    }
    return this.#result;
  }

  /** The reason why it is left out. */
  async #import(given: JsonObject, shown: string): Promise<string | undefined> {
    const converted = convertObject(this.#tree.kinds, given);
    if ('reason' in converted) return converted.reason;
    const { kind, object } = converted;
    const { namespace = '', name } = object.metadata;
    const inner = defaultPath('', kind.plural, { namespace, name });
    const file = join(this.#root, inner);
    const link = linkAbove(this.#root, inner);
    if (link !== undefined) return `${link} is a symbolic link`;
    if (existsSync(file)) return `${inner} exists already`;
    const text = formatManifest(object);
    const problem = await this.#problemOf(inner, text);
    if (problem !== undefined) return problem;
    const path = file.slice(this.#tree.root.length + 1);
    const manifest = isSealed(kind) ? await this.#sealed(path, text) : text;
    if (manifest === undefined) {
      return `it holds secrets, and there is no ${SOPS_CONFIG}: make one with gitplane seal --init`;
    }
    await mkdir(dirname(file), { recursive: true });
    await this.#tree.write(path, manifest);
    this.#result.imported.push({ path: inner, object: shown });
    return undefined;
  }

  /** The first problem that a push of the manifest would meet. */
  async #problemOf(path: string, text: string): Promise<string | undefined> {
    const content = Buffer.from(text);
    await this.#tree.reader.prepare([content]);
    const { documents } = this.#tree.reader.read(path, path, content);
    const problems = documents.flatMap((document) => document.problems);
    const [first] = problems.filter(({ inClear }) => inClear !== true);
    return first === undefined ? undefined : formatProblem(first);
  }

  async #sealed(path: string, text: string): Promise<string | undefined> {
    if (!existsSync(this.#tree.configFile)) return undefined;
    return await this.#tree.sealer.sealFile(await this.#tree.place(path), text);
  }
}

/** The first folder of a path that is a symbolic link: git commits nothing behind it, and it may lead anywhere. */
function linkAbove(root: string, path: string): string | undefined {
  const names = dirname(path).split('/');
  return names
    .map((_, at) => names.slice(0, at + 1).join('/'))
    .find((folder) => lstatSync(join(root, folder), { throwIfNoEntry: false })?.isSymbolicLink());
}

function isSealed(kind: Kind): boolean {
  return kind.secretPaths.length > 0;
}

/** Of every kind that a platform and the other cluster can have. */
async function objectsOfContext(kinds: KindTable, context: string): Promise<JsonObject[]> {
  const resources = [
    ...kinds.kinds.flatMap(({ plural, group, verbs }) =>
      (verbs.includes('list') ? [group, ...FOREIGN_GROUPS] : []).map((one) => `${plural}.${one}`),
    ),
    'secrets',
  ];
  const objects: JsonObject[] = [];
  for (const resource of new Set(resources)) {
    const args = ['--context', context, 'get', resource, '-A', '-o', 'json'];
    try {
      const { stdout } = await promisify(execFile)('kubectl', args, KUBECTL);
      const list: unknown = JSON.parse(stdout);
      const items = isRecord(list) ? list['items'] : undefined;
      if (Array.isArray(items)) objects.push(...(items.filter(isRecord) as JsonObject[]));
    } catch (error) {
      const stderr = isRecord(error) ? String(error['stderr']) : String(error);
      if (/doesn't have a resource type/.test(stderr)) continue;
      if (/ENOENT/.test(String(error))) {
        throw new UsageError('--from-context needs kubectl on the PATH', { cause: error });
      }
      throw new Error(`kubectl get ${resource}: ${stderr.trim()}`, { cause: error });
    }
  }
  return objects;
}

function requireCleanWorkTree(root: string): void {
  const { status, stdout } = spawnSync('git', ['status', '--porcelain', '--untracked-files=no'], {
    cwd: existsSync(root) ? root : dirname(root),
    encoding: 'utf8',
  });
  if (status !== 0) throw new UsageError(`${root} is not in a git work tree: leave out --commit`);
  if (stdout.trim() !== '') throw new UsageError(`${root} has changes that are not committed`);
}

function commit(root: string, imported: readonly Imported[]): void {
  const paths = imported.map(({ path }) => path);
  const message = `Import ${paths.length} objects`;
  for (const args of [
    ['add', '--', ...paths],
    ['commit', '--quiet', '-m', message, '--', ...paths],
  ]) {
    const { status } = spawnSync('git', args, {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (status !== 0) {
      throw new Error(`git ${args[0]} ended with ${status}; the manifests are written`);
    }
  }
}

function nameOf({ apiVersion, kind, metadata }: JsonObject): string {
  const { namespace, name } = isRecord(metadata) ? metadata : {};
  const full = [namespace, name].filter((part) => typeof part === 'string').join('/');
  return shownPath(`${String(apiVersion)} ${String(kind)} ${full}`);
}

function textOf({ imported, leftOut }: Result): string {
  const lines = [
    ...imported.map(({ path, object }) => `${path}: ${object}`),
    ...leftOut.map(({ object, reason }) => `left out: ${object}: ${reason}`),
    `${imported.length} imported, ${leftOut.length} left out`,
  ];
  return lines.map((line) => `${line}\n`).join('');
}
