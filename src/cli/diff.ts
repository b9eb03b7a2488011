/**
 * `gitplane diff`: objects of files, or of another cluster, compared with a platform. Each difference
 * is computed by the platform, which answers a server-side apply as a dry run.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  isKubeObject,
  isRecord,
  type JsonObject,
  jsonEqual,
  type KubeObject,
  SERVER_POPULATED_META,
} from '../apimachinery/index.ts';
import { apiVersionOf, buildKindTable, type Kind, type KindTable, masked } from '../kinds/index.ts';
import { pathFilter } from '../manifests/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { type Connection, itemsIn, openConnection, openContext } from './connection.ts';
import { AnswerError } from './https-client.ts';
import { manifestPaths } from './manifest-paths.ts';
import { readObjects } from './objects-input.ts';
import { type Output, Report } from './print.ts';
import { yamlDiff } from './yaml-diff.ts';

interface DiffInput {
  readonly out: Output;
  readonly stdin: NodeJS.ReadableStream;
}

interface Difference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly change: 'created' | 'changed' | 'absent' | 'refused' | 'skipped';
  /** Lines of a diff; for a refused or skipped object the reason. */
  readonly lines: readonly string[];
}

const APPLY = 'application/apply-patch+yaml';
const QUERY = 'fieldManager=gitplane-diff&force=true&dryRun=All';
const NAMESPACED = 'Namespaced';

/** Resolves to the exit status: 1 when something differs. */
export async function diff(options: ParsedOptions, { out, stdin }: DiffInput): Promise<number> {
  const context = options.text('from-context');
  const { operands } = options;
  if ((context === undefined) === (operands.length === 0)) {
    throw new UsageError('Name either files to compare, or a cluster with --from-context NAME');
  }
  const kinds = buildKindTable(options.required('api-group'));
  const platform = await openConnection(options);
  const differences = new Report<Difference>(options, out);
  const compare = new Comparison(kinds, platform);
  const add = (found: Difference | undefined): void => {
    if (found !== undefined) differences.add(found, textOf(found));
  };
  if (context === undefined) {
    for (const object of await readObjects(await filesIn(operands), stdin)) {
      add(await compare.object(object));
    }
  } else {
    const other = await openContext(options, context);
    for (const kind of compare.listed()) {
      for (const found of await compare.kind(kind, other)) add(found);
    }
  }
  differences.end((items) => ({ differences: items }));
  return differences.items.some(({ change }) => change !== 'skipped') ? 1 : 0;
}

/** Manifests of folders; files and `-` as they are. */
async function filesIn(operands: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const operand of operands) {
    const isFolder = operand !== '-' && (await stat(operand).catch(() => undefined))?.isDirectory();
    if (isFolder !== true) files.push(operand);
    else {
      for await (const path of manifestPaths(operand, pathFilter('', undefined))) {
        files.push(join(operand, path));
      }
    }
  }
  if (files.length === 0) throw new UsageError(`There is no manifest in ${operands.join(', ')}`);
  return files;
}

class Comparison {
  readonly #kinds: KindTable;
  readonly #platform: Connection;

  constructor(kinds: KindTable, platform: Connection) {
    this.#kinds = kinds;
    this.#platform = platform;
  }

  /** Kinds that can be listed and applied. */
  listed(): readonly Kind[] {
    return this.#kinds.kinds.filter(({ verbs }) =>
      ['list', 'patch'].every((verb) => verbs.some((one) => one === verb)),
    );
  }

  /** Objects of one kind in both clusters. */
  async kind(kind: Kind, other: Connection): Promise<(Difference | undefined)[]> {
    const path = `apis/${apiVersionOf(kind)}/${kind.plural}`;
    const listed = await absentIfMissing(other.ask('GET', path));
    if (listed === undefined) return [];
    const found: (Difference | undefined)[] = [];
    const names = new Set<string>();
    for (const object of itemsIn(listed)) {
      names.add(placeOf(kind, object));
      // One object that the platform refuses hides no other one.
      const compared = this.#compare(kind, object);
      found.push(await compared.catch((error: unknown) => refused(kind, object, error)));
    }
    for (const object of itemsIn(await this.#platform.ask('GET', path))) {
      if (!names.has(placeOf(kind, object))) found.push(difference(kind, object, undefined));
    }
    return found;
  }

  async object(given: JsonObject): Promise<Difference | undefined> {
    const { apiVersion, kind: name, metadata } = given;
    const kind = this.#kinds.kinds.find(
      (one) => one.kind === name && apiVersionOf(one) === apiVersion,
    );
    const meta = isRecord(metadata) ? metadata : {};
    const about = {
      apiVersion: String(apiVersion),
      kind: String(name),
      name: String(meta['name'] ?? ''),
    };
    const skip = (reason: string): Difference => ({ ...about, change: 'skipped', lines: [reason] });
    if (kind === undefined) return skip('it is not a kind of the platform');
    if (about.name === '') return skip('it has no name');
    if (given['sops'] !== undefined) return skip('it is encrypted; gitplane plan compares commits');
    return await this.#compare(kind, { ...given, metadata: meta } as KubeObject);
  }

  async #compare(kind: Kind, object: KubeObject): Promise<Difference | undefined> {
    const path = placeOf(kind, object);
    const live = await absentIfMissing(this.#platform.ask('GET', path));
    const body = {
      ...withoutServerFields(object),
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
    };
    const applied = await this.#platform.ask('PATCH', `${path}?${QUERY}`, { body, type: APPLY });
    return difference(kind, live, applied);
  }
}

function refused(kind: Kind, { metadata }: KubeObject, error: unknown): Difference {
  if (!(error instanceof AnswerError) || ![400, 403, 409, 422].includes(error.code)) throw error;
  const { namespace, name = '' } = metadata;
  const where = namespace === undefined ? {} : { namespace };
  const about = { apiVersion: apiVersionOf(kind), kind: kind.kind, ...where, name };
  return { ...about, change: 'refused', lines: [error.message] };
}

/** Undefined: nothing differs. `after` undefined: the object is on the platform alone. */
function difference(kind: Kind, before: unknown, after: unknown): Difference | undefined {
  const [old, next] = [shownOf(before), shownOf(after)];
  if (jsonEqual(old ?? null, next ?? null)) return undefined;
  const { metadata } = (next ?? old) as KubeObject;
  const hide = (value: unknown): unknown => masked(value, [], kind.secretPaths) ?? null;
  const lines = yamlDiff(hide(old) ?? {}, hide(next) ?? {});
  const { namespace, name = '' } = metadata;
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    change: old === undefined ? 'created' : next === undefined ? 'absent' : 'changed',
    lines: lines.length > 0 ? lines : [' (secret values differ)'],
  };
}

/** Fields that people write. */
function shownOf(object: unknown): JsonObject | undefined {
  return isKubeObject(object) ? withoutServerFields(object) : undefined;
}

function withoutServerFields(object: KubeObject): JsonObject {
  const { status: _status, ...fields } = object;
  const populated: readonly string[] = SERVER_POPULATED_META;
  const metadata = Object.entries(object.metadata).filter(([name]) => !populated.includes(name));
  return { ...fields, metadata: Object.fromEntries(metadata) as JsonObject };
}

/** Below the API root, without the query. */
function placeOf(kind: Kind, { metadata }: KubeObject): string {
  const { namespace = 'default', name = '' } = metadata;
  const where = kind.scope === NAMESPACED ? `namespaces/${encodeURIComponent(namespace)}/` : '';
  return `apis/${apiVersionOf(kind)}/${where}${kind.plural}/${encodeURIComponent(name)}`;
}

async function absentIfMissing(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof AnswerError && error.code === 404) return undefined;
    throw error;
  }
}

const WORDS = {
  created: 'would be created',
  changed: 'would change',
  absent: 'is on the platform alone',
  refused: 'would be refused',
  skipped: 'is skipped',
} as const;

function textOf({ kind, namespace, name, change, lines }: Difference): string {
  const title = `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name} ${WORDS[change]}`;
  if (change === 'skipped' || change === 'refused') return `${title}: ${lines.join(' ')}`;
  return [`${title}:`, ...lines.map((line) => `  ${line}`)].join('\n');
}
