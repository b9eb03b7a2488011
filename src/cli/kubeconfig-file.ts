/**
 * Kubeconfigs as kubectl keeps them: `$KUBECONFIG` may list several, an entry is changed in the file
 * that has it, and new ones go where kubectl would put them. A change replaces the file as a whole
 * and touches nothing but its own entries; `FILE.lock` keeps out kubectl and others meanwhile.
 */
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, realpath, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Document, isMap, isSeq, parseDocument, type YAMLMap, YAMLSeq } from 'yaml';
import { isRecord } from '../apimachinery/index.ts';
import { replaceFile } from '../auth/index.ts';
import { removeTemporariesOf } from '../files/index.ts';

/** Entries that a login adds: a cluster, a user and a context of the same name. */
export interface KubeconfigEntry {
  readonly name: string;
  /** Fields of the cluster; undefined takes a field away. */
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly user: Readonly<Record<string, unknown>>;
}

const LISTS = ['clusters', 'users', 'contexts'] as const;
type List = (typeof LISTS)[number];

/** Files to look into, the first that says something counts. `given`: the one of the command line. */
export function kubeconfigFiles(
  given: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  if (given !== undefined) return [given];
  const listed = (environment['KUBECONFIG'] ?? '').split(':').filter((file) => file !== '');
  if (listed.length > 0) return [...new Set(listed)];
  return [join(environment['HOME'] ?? '.', '.kube', 'config')];
}

/** Adds or replaces the entry and makes its context the current one. Returns the file that has it. */
export async function addToKubeconfig(
  files: readonly string[],
  entry: KubeconfigEntry,
): Promise<string> {
  const home = defaultFile(files);
  const places = new Map<List, string>();
  for (const list of LISTS) places.set(list, (await fileOf(files, list, entry.name)) ?? home);
  for (const file of new Set([...places.values(), home])) {
    await change(file, (document) => {
      for (const list of LISTS) {
        if (places.get(list) === file) SETTERS[list](document, entry);
      }
      if (file === home) document.set('current-context', entry.name);
    });
  }
  return home;
}

/** Takes away what a login added, from whichever files have it. */
export async function removeFromKubeconfig(files: readonly string[], name: string): Promise<void> {
  for (const file of files.filter((one) => existsSync(one))) {
    const before = await read(file);
    const has = LISTS.some((list) => find(before, list, name) !== undefined);
    if (!has && before.get('current-context') !== name) continue;
    await change(file, (document) => {
      for (const list of LISTS) {
        const entries = document.get(list);
        const found = find(document, list, name);
        if (isSeq(entries) && found !== undefined) {
          entries.items = entries.items.filter((item) => item !== found);
        }
      }
      // As kubectl has it where no context is current.
      if (document.get('current-context') === name) document.set('current-context', '');
    });
  }
}

/** All files as one: of entries with one name the first counts, as does the first current context. */
export async function readKubeconfigs(files: readonly string[]): Promise<{
  readonly currentContext: string;
  find(list: List, name: string): Readonly<Record<string, unknown>> | undefined;
}> {
  const documents = await Promise.all(files.filter((file) => existsSync(file)).map(read));
  const contents = documents.map((document): unknown => document.toJS());
  const records = contents.filter(isRecord);
  const current = records.map((one) => one['current-context']).find((name) => name);
  return {
    currentContext: typeof current === 'string' ? current : '',
    find: (list, name) => {
      for (const content of records) {
        const entries: unknown = content[list];
        const found = Array.isArray(entries)
          ? entries.filter(isRecord).find((entry) => entry['name'] === name)
          : undefined;
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}

/** The first that is there, else the last: as `kubectl config` does. */
function defaultFile(files: readonly string[]): string {
  return files.find((file) => existsSync(file)) ?? files.at(-1) ?? 'config';
}

async function fileOf(
  files: readonly string[],
  list: List,
  name: string,
): Promise<string | undefined> {
  for (const file of files) {
    if (existsSync(file) && find(await read(file), list, name) !== undefined) return file;
  }
  return undefined;
}

const SETTERS: Readonly<Record<List, (document: Document, entry: KubeconfigEntry) => void>> = {
  clusters: (document, { name, cluster }) => {
    const fields = section(document, entryOf(document, 'clusters', name), 'cluster');
    for (const [field, value] of Object.entries(cluster)) {
      if (value === undefined) fields.delete(field);
      else fields.set(field, value);
    }
  },
  // Whatever else it had would be used instead.
  users: (document, { name, user }) =>
    entryOf(document, 'users', name).set('user', document.createNode(user)),
  contexts: (document, { name }) => {
    const fields = section(document, entryOf(document, 'contexts', name), 'context');
    fields.set('cluster', name);
    fields.set('user', name);
  },
};

function entryOf(document: Document, list: List, name: string): YAMLMap {
  const found = find(document, list, name);
  if (found !== undefined) return found;
  const existing = document.get(list);
  const entries = isSeq(existing) ? existing : new YAMLSeq();
  // An empty `[]` would go on in its style.
  if (entries.items.length === 0) entries.flow = false;
  if (entries !== existing) document.set(list, entries);
  const entry = document.createNode({ name });
  entries.add(entry);
  return entry;
}

function section(document: Document, entry: YAMLMap, field: string): YAMLMap {
  const existing = entry.get(field);
  if (isMap(existing)) return existing;
  const made = document.createNode({});
  entry.set(field, made);
  return made;
}

function find(document: Document, list: List, name: string): YAMLMap | undefined {
  const entries = document.get(list);
  if (!isSeq(entries)) return undefined;
  return entries.items.filter((item) => isMap(item)).find((item) => item.get('name') === name);
}

async function read(file: string): Promise<Document> {
  const text = await readFile(file, 'utf8');
  const document = parseDocument(text);
  const [error] = document.errors;
  const isEmpty = document.contents === null;
  if (error === undefined && (isMap(document.contents) || isEmpty)) {
    return isEmpty ? newDocument() : document;
  }
  throw new Error(`${file} is not a kubeconfig${error === undefined ? '' : `: ${error.message}`}`);
}

function newDocument(): Document {
  return parseDocument('apiVersion: v1\nkind: Config\n');
}

async function change(file: string, edit: (document: Document) => void): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // A link stays one.
  const target = existsSync(file) ? await realpath(file) : file;
  await locked(target, async () => {
    removeTemporariesOf(target);
    const exists = existsSync(target);
    const document = exists ? await read(target) : newDocument();
    edit(document);
    const mode = exists ? (await stat(target)).mode & 0o777 : 0o600;
    await replaceFile(target, document.toString({ lineWidth: 0 }), mode);
  });
}

const LOCK_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 50;

/** kubectl makes the same file, and gives up at once where it is there. */
async function locked(file: string, act: () => Promise<void>): Promise<void> {
  const lock = `${file}.lock`;
  const until = performance.now() + LOCK_WITHIN_MS;
  for (;;) {
    const handle = await open(lock, 'wx', 0o600).catch((error: { code?: string }) => {
      if (error.code !== 'EEXIST') throw error;
      return undefined;
    });
    if (handle !== undefined) {
      await handle.close();
      break;
    }
    if (performance.now() > until) {
      throw new Error(
        `${lock} is there: another program changes ${file}, or died doing so; remove it then`,
      );
    }
    await pause(LOOK_EVERY_MS);
  }
  try {
    await act();
  } finally {
    await rm(lock, { force: true });
  }
}
