/** Common parts of KV v1 and v2: paths, the values of a secret, the body of a write. */
import {
  decodeFromStore,
  encodeForStore,
  type SecretValues,
  type StoreChange,
  StoreError,
  type WriteOutcome,
} from '../secrets-merge/index.ts';
import type { Answer } from './client.ts';
import { type Member, membersAt } from './json-members.ts';

export type Members = ReadonlyMap<string, Member>;

export interface KvData {
  readonly values: SecretValues;
  readonly typed: ReadonlySet<string>;
  readonly otherKeys: readonly string[];
}

const KEY = /^(?!\.$|\.\.)[-._a-zA-Z0-9]{1,253}$/;

/** Encodes each segment. Throws `StoreError` for a path that a store cannot hold. */
export function encodePath(path: string): string {
  const segments = path.split('/');
  if (path.endsWith('.') || segments.some((part) => part === '' || part === '.' || part === '..')) {
    const message = `The secret path ${JSON.stringify(path)} must have no empty part, no "." and ".." and no period at its end`;
    throw new StoreError(message, { reason: 'InvalidPath' });
  }
  return segments.map((part) => encodeURIComponent(part)).join('/');
}

/** A store takes some 500 keys by default, and a value may be a list. */
const MAX_VALUES = 20_000;

/** Throws `StoreError` for a secret with more values than may be parsed without a pause. */
export function refuseLarge({ values = 0 }: Answer, where: string): void {
  if (values <= MAX_VALUES) return;
  throw new StoreError(`${where} has more than ${MAX_VALUES} values`, { reason: 'TooLarge' });
}

/** Throws `StoreError` if the answer has no JSON object at this path. */
export function readMembers(answer: Answer, path: readonly string[], where: string): Members {
  refuseLarge(answer, where);
  const members = parsed(() => membersAt(answer.text, path));
  if (members !== undefined) return members;
  throw new StoreError(`${where} was answered without ${path.join('.')}`, {
    reason: 'WrongEngine',
  });
}

/** JSON of an answer, for everything but values. */
export function readJson<T extends object>(answer: Answer, where: string): T {
  const body = parsed((): T => JSON.parse(answer.text));
  if (typeof body === 'object' && body !== null) return body;
  throw new StoreError(`${where} was answered without JSON`, {
    reason: 'WrongEngine',
  });
}

/** Drops the error of the parser, which quotes its input. */
function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

export function dataOf(members: Members): KvData {
  const values = new Map<string, Uint8Array>();
  const typed = new Set<string>();
  const otherKeys: string[] = [];
  for (const [key, { text, string }] of members) {
    if (!KEY.test(key)) {
      otherKeys.push(key);
      continue;
    }
    if (string === undefined) typed.add(key);
    values.set(key, string === undefined ? Buffer.from(text) : decodeFromStore(string));
  }
  return { values, typed, otherKeys };
}

/** All members after a change as JSON. Unchanged members keep their exact text. */
export function fullBody(members: Members, { set, remove }: Omit<StoreChange, 'seen'>): string {
  const texts = new Map([...members].map(([key, { text }]) => [key, text]));
  for (const key of remove) texts.delete(key);
  for (const [key, value] of set) texts.set(key, JSON.stringify(encodeForStore(value)));
  return objectText(texts);
}

/** Only the change, as a merge patch (RFC 7396). */
export function patchBody({ set, remove }: Omit<StoreChange, 'seen'>): string {
  const texts = new Map(remove.map((key) => [key, 'null']));
  for (const [key, value] of set) texts.set(key, JSON.stringify(encodeForStore(value)));
  return objectText(texts);
}

function objectText(texts: ReadonlyMap<string, string>): string {
  return `{${[...texts].map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`;
}

/** Raft limit for one version. */
const MAX_BODY_BYTES = 1024 * 1024;
/** Default limit of strings in a body, keys included; some are for the envelope. */
const MAX_STRINGS = 990;

export function tooLarge(data: string): WriteOutcome | undefined {
  const strings = data.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0;
  if (strings > MAX_STRINGS) {
    const detail = `has more keys than the store takes (about ${MAX_STRINGS / 2})`;
    return { is: 'refused', reason: 'TooLarge', detail };
  }
  return Buffer.byteLength(data) > MAX_BODY_BYTES
    ? { is: 'refused', reason: 'TooLarge', detail: 'is larger than the 1 MiB that the store takes' }
    : undefined;
}
