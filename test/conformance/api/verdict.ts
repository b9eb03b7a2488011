/**
 * What of an answer has to be the same on every server: everything but identities, times, versions
 * and tokens, which get names in the order in which a case sees them. Two answers that hold the same
 * uid or version hold the same name.
 */
import type { Answered } from './target.ts';

export interface Verdict {
  readonly code: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Those that clients act on. */
const HEADERS = ['content-type', 'warning', 'allow', 'retry-after'];

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** What `generateName` adds. */
const SUFFIX = /\b(generated-|Generated_)[bcdfghjklmnpqrstvwxz2456789]{5}\b/g;
/** Versions in sentences. */
const VERSION = /(current: |in record \(|precondition \(|"resourceVersion\\?":\\?")\d+/g;
const AGE = /^(\d+[smhdy])+$/;

export class Namer {
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  name(what: string, value: string): string {
    const id = `${what} ${value}`;
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const count = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, count);
    const name = `<${what} ${count}>`;
    this.#names.set(id, name);
    return name;
  }
}

export function verdictOf(answer: Answered, namer: Namer): Verdict {
  const headers = Object.fromEntries(
    HEADERS.flatMap((name) => {
      const value = answer.headers[name];
      return value === undefined ? [] : [[name, plain(String(value), namer)]];
    }),
  );
  const type = String(answer.headers['content-type'] ?? '');
  const body = type.includes('json') ? bodyOf(answer.text, namer) : plain(answer.text, namer);
  return { code: answer.code, headers, body };
}

export function bodyOf(text: string, namer: Namer): unknown {
  try {
    return normal(JSON.parse(text), { namer, at: [] });
  } catch {
    return plain(text, namer);
  }
}

interface Place {
  readonly namer: Namer;
  readonly at: readonly string[];
}

function normal(value: unknown, place: Place): unknown {
  const { namer, at } = place;
  const key = at.at(-1) ?? '';
  if (typeof value === 'string') return text(key, value, place);
  if (Array.isArray(value)) {
    if (key === 'causes') return causes(value, place);
    if (key === 'managedFields') return inOrder(value, place);
    return value.map((item, index) => normal(item, { namer, at: [...at, String(index)] }));
  }
  if (typeof value !== 'object' || value === null) return value;
  const shown = Object.entries(value)
    // No token, or an empty one: there is no more.
    .filter(([name, item]) => name !== 'continue' || item !== '')
    // "An empty status is shown" in docs/api-differences.md.
    .filter(([name, item]) => name !== 'status' || !isUnsaid(item))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const entries = shown.map(([name, item]) => {
    // A list, a table and a bookmark tell the version of the server, which others move as well.
    const ofList = name === 'resourceVersion' && isListMeta(value, at);
    return [name, ofList ? '<version>' : normal(item, { namer, at: [...at, name] })];
  });
  return Object.fromEntries(entries);
}

/** True for a status without fields, and for one that has the condition `Ready` alone. */
function isUnsaid(status: unknown): boolean {
  const { conditions = [], ...others } = status as { conditions?: readonly { type?: string }[] };
  return Object.keys(others).length === 0 && conditions.every(({ type }) => type === 'Ready');
}

/** Entries of one operation are in the order of their seconds, which no case can know. */
function inOrder(entries: readonly unknown[], { namer, at }: Place): unknown[] {
  const key = (entry: unknown): string => {
    const { operation, manager } = entry as Record<string, unknown>;
    return `${operation} ${manager}`;
  };
  return entries
    .toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
    .map((entry) => normal(entry, { namer, at: [...at, '0'] }));
}

/** Kubernetes repeats some. */
function causes(list: readonly unknown[], { namer, at }: Place): unknown[] {
  const shown = list.map((item) => normal(item, { namer, at: [...at, '0'] }));
  return [...new Map(shown.map((item) => [JSON.stringify(item), item])).values()];
}

function isListMeta(meta: object, at: readonly string[]): boolean {
  return at.at(-1) === 'metadata' && !('name' in meta) && !('uid' in meta);
}

function text(key: string, value: string, { namer, at }: Place): unknown {
  if (key === 'resourceVersion' && /^\d+$/.test(value)) return namer.name('version', value);
  if (key === 'continue') return value === '' ? '' : '<token>';
  if (at.includes('cells') && AGE.test(value)) return '<age>';
  return plain(value, namer);
}

function plain(value: string, namer: Namer): string {
  return value
    .replace(/^(\s*)status: \{\}\n/gm, '')
    .replace(TIME, '<time>')
    .replace(UID, (uid) => namer.name('uid', uid))
    .replace(SUFFIX, '$1<suffix>')
    .replace(VERSION, '$1<number>');
}
