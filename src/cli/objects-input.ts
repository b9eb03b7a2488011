/** Objects that are given to a command: files of YAML or JSON, and standard input. */
import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { isRecord, type JsonObject } from '../apimachinery/index.ts';
import { formatProblem, type ManifestDocument, readManifests } from '../manifests/index.ts';
import { UsageError } from '../options/index.ts';

export async function bytesOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`Cannot read ${path}: ${why}`, { cause: error });
  }
}

/** Throws for what is no YAML. */
export async function documentsOf(
  path: string,
  content: Buffer,
): Promise<readonly ManifestDocument[]> {
  const read = readManifests(content);
  if (!('documents' in read)) throw new Error(formatProblem({ path, ...read }));
  const problems = read.documents.flatMap((document) => document.problems);
  if (problems.length === 0) return read.documents;
  throw new Error(problems.map((problem) => formatProblem({ path, ...problem })).join('\n'));
}

/** Every document of every file, and the items of lists; `-` is standard input. */
export async function readObjects(
  paths: readonly string[],
  stdin: NodeJS.ReadableStream,
): Promise<JsonObject[]> {
  const objects: JsonObject[] = [];
  for (const path of paths) {
    const content = path === '-' ? Buffer.from(await readAll(stdin)) : await bytesOf(path);
    for (const { value } of await documentsOf(path, content)) objects.push(...objectsIn(value));
  }
  if (objects.length === 0) throw new UsageError(`There is no object in ${paths.join(', ')}`);
  return objects;
}

function objectsIn(value: unknown): JsonObject[] {
  if (!isRecord(value)) throw new UsageError('An input is not an object');
  const { kind, items } = value;
  if (typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)) {
    return items.flatMap(objectsIn);
  }
  return [value as JsonObject];
}
