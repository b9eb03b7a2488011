/**
 * Encryption of the secrets of a file. Encrypted values keep their bytes, so a change of one value
 * changes three lines, and a file without changes comes back unchanged.
 */
import { isRecord, type JsonObject, type JsonValue, jsonEqual } from '../apimachinery/index.ts';
import {
  editDocument,
  type ManifestDocument,
  readManifests,
  splitStream,
} from '../manifests/index.ts';
import { findComments } from './comments.ts';
import type { FileKey } from './data-keys.ts';
import { sealMac, storedMac } from './mac.ts';
import { formatMetadata, MARK, type SealMetadata, SOPS } from './metadata.ts';
import { metadataOf, type OpenedFile, openStream, type SealedPlace } from './open.ts';
import { pgpEntries } from './pgp.ts';
import { boundTo, clearValueOf, isSealed, openValue, sealValue } from './sealed-value.ts';
import { SealingError } from './sealing-error.ts';
import { type Rule, type Selection, selectionOf } from './selection.ts';
import { mapLeaves } from './tree.ts';

export interface Sealing {
  readonly key: FileKey;
  /** Rule for a file that is not encrypted yet. An encrypted file keeps its own. */
  readonly rule: Rule;
  /** Encrypted values to reuse if path and value are the same. */
  readonly reuse?: Reuse | undefined;
  /** Metadata of the file before its decryption. Reused if it still matches. */
  readonly previous?: SealMetadata | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Encrypts every value that the rule selects, and adds `sops` to every document. Throws SealingError
 * if the file does not parse, or does not decrypt with the key.
 */
export function sealText(text: string, sealing: Sealing): string {
  const before = documentsOf(text);
  const old = metadataOf(before) ?? sealing.previous;
  const selection = selectionOf(old?.rule ?? sealing.rule);
  const sealed = editDocuments(text, before, (value) => sealDocument(value, selection, sealing));
  return withMetadata(sealComments(sealed, selection, sealing), { old, sealing });
}

/** Edits each document on its own, so that the cost stays linear in the size of the file. */
function editDocuments(
  text: string,
  documents: readonly Pick<ManifestDocument, 'index' | 'value'>[],
  change: (value: JsonObject, index: number) => JsonObject,
): string {
  const slices = splitStream(text);
  const parts: string[] = [];
  let end = 0;
  for (const { index, value } of documents) {
    const slice = slices[index];
    if (slice === undefined || !isRecord(value)) throw new SealingError('only maps can be sealed');
    const part = text.slice(slice.start, slice.end);
    const wanted = change(value, index);
    const edited = jsonEqual(wanted, value) ? part : editDocument(part, 0, wanted);
    const isOpen = slice.end < text.length && !edited.endsWith('\n');
    parts.push(text.slice(end, slice.start), edited, isOpen ? '\n' : '');
    end = slice.end;
  }
  return parts.join('') + text.slice(end);
}

/** A document with its secrets encrypted. */
export function sealDocument(
  value: JsonObject,
  selection: Selection,
  sealing: Pick<Sealing, 'key' | 'reuse'>,
): JsonObject {
  const { dataKey } = sealing.key;
  return mapLeaves(value, ({ path, value: leaf }) => {
    const stays = path[0] === SOPS || leaf === null || leaf === '' || isSealed(leaf);
    if (stays || !selection(path)) return leaf;
    const bound = boundTo(path);
    const clear = clearValueOf(leaf);
    return sealing.reuse?.take(bound, clear) ?? sealValue(clear, dataKey, bound);
  });
}

function sealComments(text: string, selection: Selection, sealing: Sealing): string {
  const { dataKey } = sealing.key;
  return editComments(text, selection, ({ text: words, path, secret }) => {
    if (!secret || isSealed(words) || words.trim() === '') return words;
    const bound = boundTo(path);
    const clear = { type: 'comment' as const, bytes: Buffer.from(words) };
    return sealing.reuse?.take(bound, clear) ?? sealValue(clear, dataKey, bound);
  });
}

function editComments(
  text: string,
  selection: Selection,
  change: (comment: ReturnType<typeof findComments>[number]) => string,
): string {
  const parts: string[] = [];
  let done = 0;
  for (const { start, end } of splitStream(text)) {
    for (const comment of findComments(text.slice(start, end), selection)) {
      const words = change(comment);
      if (words === comment.text) continue;
      parts.push(text.slice(done, start + comment.start + 1), words);
      done = start + comment.end;
    }
  }
  return parts.join('') + text.slice(done);
}

function withMetadata(
  text: string,
  of: { old: SealMetadata | undefined; sealing: Sealing },
): string {
  const { old, sealing } = of;
  const { key } = sealing;
  const documents = documentsOf(text);
  const next = metadataFor(text, documents, of);
  const result = editDocuments(text, documents, ({ [SOPS]: own, ...rest }) => {
    const isOurs = isRecord(own) && old !== undefined;
    return { ...rest, [SOPS]: isOurs ? updated(own, next) : formatMetadata(next) };
  });
  const check = openStream({ text: result, documents: documentsOf(result) }, key.dataKey);
  const [problem] = check.documents.flatMap(({ problems }) => problems);
  if (problem === undefined) return result;
  throw new SealingError(`cannot be sealed: ${problem.path.join('.')}: ${problem.message}`);
}

/** Metadata for the values. The old one is reused if its MAC matches. */
function metadataFor(
  text: string,
  documents: readonly ManifestDocument[],
  of: { old: SealMetadata | undefined; sealing: Sealing },
): SealMetadata {
  const { old, sealing } = of;
  const { key, now } = sealing;
  const base = old ?? {
    rule: sealing.rule,
    macOnlyEncrypted: true,
    lastModified: '',
    mac: '',
  };
  const recipients = { age: key.age, pgp: key.pgp, mark: key.mark };
  const trial = { ...base, ...recipients };
  const mac = macOf(text, documents, { ...trial, dataKey: key.dataKey });
  if (old !== undefined && fits(old, key.dataKey, mac)) return { ...old, ...recipients };
  const lastModified = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  return { ...trial, lastModified, mac: sealMac(mac, key.dataKey, lastModified) };
}

function fits(old: SealMetadata, dataKey: Buffer, mac: string): boolean {
  try {
    return storedMac(old, dataKey) === mac;
  } catch {
    return false;
  }
}

function macOf(
  text: string,
  documents: readonly ManifestDocument[],
  metadata: SealMetadata & { readonly dataKey: Buffer },
): string {
  const block = formatMetadata(metadata);
  const marked = documents.map(({ index, value }) => ({
    index,
    value: { ...(isRecord(value) ? value : {}), [SOPS]: block },
  }));
  return openStream({ text, documents: marked }, metadata.dataKey).mac ?? '';
}

/** The block of an encrypted file, updated. Its other fields stay. */
function updated(own: JsonObject, next: SealMetadata): JsonObject {
  const { lastModified, mac, mark } = next;
  const { [MARK]: _stale, ...stated } = own;
  const block: JsonObject = { ...stated, lastmodified: lastModified, mac };
  if (mark !== undefined) block[MARK] = mark;
  const groups = own['key_groups'];
  const group = Array.isArray(groups) && isRecord(groups[0]) ? groups[0] : own;
  const keys = changedKeys(group, next);
  if (group === own) return { ...block, ...keys };
  return { ...block, key_groups: [{ ...group, ...keys }] };
}

/** Recipients that differ from those of the group. PGP entries stay if `pgp` is undefined. */
function changedKeys(group: JsonObject, { age, pgp }: SealMetadata): JsonObject {
  const isSame = jsonEqual(ageOf(group), ageOf({ age: age.map((one) => ({ ...one })) }));
  const isSamePgp = pgp === undefined || jsonEqual(pgpEntries(group['pgp']), [...pgp]);
  return {
    ...(!isSame && { age: age.map(({ recipient, enc }) => ({ enc, recipient })) }),
    ...(!isSamePgp && { pgp: [...pgp] }),
  };
}

function ageOf(group: JsonObject): JsonValue {
  const { age } = group;
  if (!Array.isArray(age)) return [];
  return age.map((item) => (isRecord(item) ? [item['recipient'] ?? '', item['enc'] ?? ''] : ''));
}

/** The decrypted file, without `sops`. Throws SealingError if it cannot be decrypted. */
export function unsealText(text: string, dataKey: Buffer): string {
  const documents = documentsOf(text);
  const opened = openStream({ text, documents }, dataKey);
  const { metadata } = opened;
  if (metadata === undefined) return text;
  refuseProblems(documents, opened);
  const values = new Map(opened.documents.map(({ index, value }) => [index, value]));
  const result = editDocuments(text, documents, (sealed, index) => {
    const value = values.get(index);
    return isRecord(value) ? value : sealed;
  });
  return editComments(result, selectionOf(metadata.rule), ({ text: words, path }) =>
    isSealed(words) ? (openComment(words, path, dataKey) ?? words) : words,
  );
}

/** Writers disagree on the map of a comment, so the parent maps are tried too. */
function openComment(words: string, path: readonly string[], dataKey: Buffer): string | undefined {
  for (let length = path.length; length >= 0; length--) {
    try {
      return openValue(words, dataKey, boundTo(path.slice(0, length))).bytes.toString('utf8');
    } catch (error) {
      if (!(error instanceof SealingError)) throw error;
    }
  }
  return undefined;
}

function refuseProblems(documents: readonly ManifestDocument[], opened: OpenedFile): void {
  for (const { index, problems } of opened.documents) {
    const [problem] = problems;
    if (problem === undefined) continue;
    const document = documents.find((candidate) => candidate.index === index);
    const place = document?.locate(problem.path) ?? { line: 1, col: 1 };
    const field = problem.path.join('.');
    throw new SealingError(`${place.line}:${place.col}: ${field}: ${problem.message}`);
  }
}

/** Encrypted values of the previous version of a file, by place and value. */
export class Reuse {
  readonly #texts = new Map<string, string[]>();

  constructor(sealed: readonly Omit<SealedPlace, 'index'>[]) {
    for (const { bound, clear, text } of sealed) {
      const id = idOf(bound, clear);
      const known = this.#texts.get(id);
      if (known === undefined) this.#texts.set(id, [text]);
      else known.push(text);
    }
  }

  /** Returns each one once: equal values must not have equal ciphertexts. */
  take(bound: string, clear: SealedPlace['clear']): string | undefined {
    return this.#texts.get(idOf(bound, clear))?.shift();
  }
}

function idOf(bound: string, { type, bytes }: SealedPlace['clear']): string {
  return `${type} ${bound} ${bytes.toString('base64')}`;
}

/** Encrypted comments of a text, for `Reuse`. */
export function sealedComments(
  text: string,
  rule: Rule,
  dataKey: Buffer,
): Omit<SealedPlace, 'index'>[] {
  const found: Omit<SealedPlace, 'index'>[] = [];
  editComments(text, selectionOf(rule), ({ text: words, path }) => {
    if (!isSealed(words)) return words;
    const clear = openComment(words, path, dataKey);
    if (clear === undefined) return words;
    const bytes = Buffer.from(clear);
    found.push({ bound: boundTo(path), clear: { type: 'comment', bytes }, text: words });
    return words;
  });
  return found;
}

/** The documents of a stream that are not empty. Throws SealingError if one does not parse. */
export function documentsOf(text: string): readonly ManifestDocument[] {
  const file = readManifests(Buffer.from(text));
  if (!('documents' in file)) throw new SealingError(`${file.line}:${file.col}: ${file.message}`);
  const { documents } = file;
  const [problem] = documents.flatMap(({ problems }) => problems);
  if (problem === undefined) return documents;
  throw new SealingError(`${problem.line}:${problem.col}: ${problem.message}`);
}
