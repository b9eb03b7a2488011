/**
 * Edits of manifests that preserve every unchanged byte. All functions are pure: text in, text out.
 * Each edit is read back and must evaluate to the desired value. If a splice does not, the smallest
 * node around it is rewritten, then its parents, and finally the document.
 */
import type { ParsedNode } from 'yaml';
import { isRecord, type JsonObject, type JsonValue, jsonEqual } from '../apimachinery/index.ts';
import { hasTooManyLexemes, MAX_LEXEMES, TOO_LONG } from './compose.ts';
import { plan } from './edit/plan.ts';
import { reorder } from './edit/reorder.ts';
import { apply, inOrder, lineBreak, OverlapError, type Splice } from './edit/splice.ts';
import { documentAlone, leftoverBefore, leftoverBehind } from './edit/stream.ts';
import { type EditTree, lastBlockScalar, nodeAt, readTree } from './edit/tree.ts';
import { parsePlainYaml } from './plain/plain-yaml.ts';
import { positionAt } from './positions.ts';
import { BYTE_ORDER_MARK, isBlankOrComment, type StreamSlice, splitStream } from './stream.ts';
import { documentLines, formatManifest, mostLexemes, toJsonObject } from './write.ts';

/** An edit that cannot be made; the message names the place. */
export class ManifestEditError extends Error {}

/** Strategy of an edit: splices alone, rewritten nodes, or a rewritten document. */
export type EditStrategy = 'unchanged' | 'splice' | 'node' | 'document';

export interface Edit {
  readonly text: string;
  readonly strategy: EditStrategy;
}

/**
 * Makes one document evaluate to `desired`; `index` is that of its ManifestDocument. Throws a
 * ManifestEditError if there is no such document or it does not parse.
 */
export function editDocument(text: string, index: number, desired: JsonObject): string {
  return describeEdit(text, index, desired).text;
}

/** Throws a ManifestEditError for an object that no later edit could read: the readers of manifests take larger ones. */
export function assertEditable(object: JsonObject): void {
  if (mostLexemes(object) <= MAX_LEXEMES || !hasTooManyLexemes(formatManifest(object))) return;
  throw new ManifestEditError(`the object could not be edited as a YAML document: ${TOO_LONG}`);
}

/** Like `editDocument`, and returns the strategy. */
export function describeEdit(text: string, index: number, desired: JsonObject): Edit {
  const slices = splitStream(text);
  const slice = sliceAt(slices, index);
  const target = toJsonObject(desired);
  const source = text.slice(slice.start, slice.end);
  const tree = readTree(source);
  const [flaw] = tree.flaws;
  if (flaw !== undefined) {
    const { line, col } = positionAt(text, slice.start + flaw.offset);
    throw new ManifestEditError(
      `document ${index + 1} cannot be edited before it parses: ${line}:${col}: ${flaw.message}`,
    );
  }
  if (tree.root.node !== null && jsonEqual(tree.value, target)) {
    return { text, strategy: 'unchanged' };
  }
  const isLast = slice.end === text.length;
  const ordered = reorder(tree, target);
  if (ordered !== tree && jsonEqual(ordered.value, target)) {
    const { source: edited } = ordered;
    return {
      text: text.slice(0, slice.start) + edited + text.slice(slice.end),
      strategy: 'splice',
    };
  }
  const { edited, strategy } = editSource(
    ordered,
    target,
    (result) => isLast || result.endsWith('\n'),
  );
  return { text: text.slice(0, slice.start) + edited + text.slice(slice.end), strategy };
}

function sliceAt(slices: readonly StreamSlice[], index: number): StreamSlice {
  const slice = slices[index];
  if (slice !== undefined) return slice;
  throw new ManifestEditError(
    `there is no document ${index + 1}: the file has ${slices.length}; read it again`,
  );
}

/** Edits one document; `ends` decides whether its text may end that way. */
function editSource(
  tree: EditTree,
  target: JsonObject,
  ends: (edited: string) => boolean,
): { edited: string; strategy: EditStrategy } {
  const rewritten = new Set<ParsedNode>();
  while (tree.root.node !== null) {
    const attempt = tryEdit(tree, target, rewritten);
    if (attempt.culprit === undefined && ends(attempt.edited)) {
      return { edited: attempt.edited, strategy: rewritten.size === 0 ? 'splice' : 'node' };
    }
    const next = smallestAround(tree, attempt.culprit ?? tree.root.node, rewritten);
    if (next === undefined) break;
    rewritten.add(next);
  }
  const edited = freshDocument(tree, target);
  const read = readTree(edited);
  const [flaw] = read.flaws;
  if (flaw !== undefined || !jsonEqual(read.value, target) || !ends(edited)) {
    const why = flaw === undefined ? '' : `: ${flaw.message}`;
    throw new ManifestEditError(`the object cannot be written as a YAML document${why}`);
  }
  return { edited, strategy: 'document' };
}

interface Attempt {
  readonly edited: string;
  /** A node whose change failed; undefined if the edit is correct. */
  readonly culprit: ParsedNode | undefined;
}

function tryEdit(tree: EditTree, target: JsonObject, rewritten: ReadonlySet<ParsedNode>): Attempt {
  try {
    const splices = inOrder(plan(tree, target, rewritten));
    const edited = withLineEnd(tree, apply(tree.source, splices), splices);
    return { edited, culprit: culpritOf(tree, { edited, splices, target }) };
  } catch (error) {
    if (error instanceof OverlapError) return { edited: tree.source, culprit: error.owner };
    throw error;
  }
}

/**
 * Adds the final line end that a block scalar at the end of a file needs: without it readers
 * disagree on whether the text ends with one.
 */
function withLineEnd(tree: EditTree, edited: string, splices: readonly Splice[]): string {
  const { source } = tree;
  if (source.endsWith('\n') || splices.at(-1)?.end !== source.length) return edited;
  return endsInBlockScalar(readTree(edited).root.node) ? edited + tree.eol : edited;
}

function culpritOf(
  tree: EditTree,
  { edited, splices, target }: { edited: string; splices: readonly Splice[]; target: JsonValue },
): ParsedNode | undefined {
  const root = tree.root.node ?? undefined;
  if (splitStream(edited).length !== 1) return root;
  refuseTooLong(edited);
  if (isPlainly(edited, target)) return undefined;
  const read = readTree(edited);
  const [flaw] = read.flaws;
  if (flaw !== undefined) return ownerAt(splices, flaw.offset) ?? root;
  if (jsonEqual(read.value, target)) return undefined;
  return root && (nodeAt(root, firstDifference(read.value, target)) ?? root);
}

/** Throws if comments are too many beside the new value: a later edit would fail, and a new document would drop them. */
function refuseTooLong(edited: string): void {
  if (edited.length * 2 <= MAX_LEXEMES || !hasTooManyLexemes(edited)) return;
  throw new ManifestEditError(`the object cannot be written as a YAML document: ${TOO_LONG}`);
}

/** True if the fast reader, which takes a tenth of the time of the library, reads the value. */
function isPlainly(edited: string, target: JsonValue): boolean {
  const plain = parsePlainYaml(edited);
  return plain?.length === 1 && jsonEqual(plain[0]?.value, target);
}

/** Owner of the last splice that begins before an offset of the new text. */
function ownerAt(splices: readonly Splice[], offset: number): ParsedNode | undefined {
  let shift = 0;
  let owner = splices[0]?.owner;
  for (const splice of splices) {
    if (splice.start + shift > offset) break;
    owner = splice.owner;
    shift += splice.text.length - (splice.end - splice.start);
  }
  return owner;
}

function firstDifference(a: unknown, b: unknown): (string | number)[] {
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
    const index = a.findIndex((item, i) => !jsonEqual(item, b[i]));
    return index === -1 ? [] : [index, ...firstDifference(a[index], b[index])];
  }
  if (!isRecord(a) || !isRecord(b)) return [];
  const keys = [...Object.keys(a), ...Object.keys(b)];
  const key = keys.find((name) => !Object.hasOwn(a, name) || !jsonEqual(a[name], b[name]));
  if (key === undefined || !Object.hasOwn(a, key) || !Object.hasOwn(b, key)) return [];
  return [key, ...firstDifference(a[key], b[key])];
}

/** The node itself, or its nearest parent that has not been rewritten yet. */
function smallestAround(
  tree: EditTree,
  node: ParsedNode,
  rewritten: ReadonlySet<ParsedNode>,
): ParsedNode | undefined {
  let next: ParsedNode | undefined = node;
  while (next !== undefined && rewritten.has(next)) next = tree.parents.get(next);
  return next;
}

/** Comments and directives before the document, its markers, and its value. */
function freshDocument({ source, eol }: EditTree, target: JsonObject): string {
  const [slice] = splitStream(source);
  const bodyStart = slice?.bodyStart ?? 0;
  const marked = source.startsWith('---', bodyStart);
  const head = source.slice(0, bodyStart) + (marked ? `---${eol}` : '');
  const tail = slice?.closedAt === undefined ? '' : source.slice(slice.closedAt);
  return (
    head +
    documentLines(target)
      .map((line) => line + eol)
      .join('') +
    tail
  );
}

/** A document of a past stream, to be written again. */
export interface FormerDocument {
  readonly text: string;
  /** That of its ManifestDocument. */
  readonly index: number;
}

/**
 * A new file for an object, from the bytes of one of its past documents: only fields that differ
 * are edited. A stream without other documents is used as a whole. Undefined if the past document
 * cannot be used.
 */
export function formatLike(former: FormerDocument, object: JsonObject): string | undefined {
  const isAlone = splitStream(former.text).length === 1;
  return isAlone ? edited(former.text, object) : formatAlone(former, object);
}

function formatAlone({ text, index }: FormerDocument, object: JsonObject): string | undefined {
  const alone = documentAlone(text, sliceAt(splitStream(text), index));
  return alone === undefined ? undefined : edited(alone, object);
}

function edited(text: string, object: JsonObject): string | undefined {
  try {
    return editDocument(text, 0, object);
  } catch (error) {
    if (error instanceof ManifestEditError) return undefined;
    throw error;
  }
}

/**
 * Appends a document to a stream, after a `---` if there are documents before it, from the bytes of
 * `former` if possible. The other text stays; a missing final line end is added.
 */
export function appendDocument(text: string, object: JsonObject, former?: FormerDocument): string {
  const eol = lineBreak(text);
  const own = former && formatAlone(former, object);
  const manifest = own ?? formatManifest(object).replaceAll('\n', eol);
  if (NOTHING.test(text)) return text.startsWith(BYTE_ORDER_MARK) ? text[0] + manifest : manifest;
  const head = text.endsWith('\n') ? text : text + eol;
  const last = splitStream(text).at(-1);
  // An empty document after a final `---` is filled.
  const open = last !== undefined && /^---\s*$/.test(text.slice(last.bodyStart));
  if (manifest.startsWith('---')) return (open ? text.slice(0, last.bodyStart) : head) + manifest;
  return `${head}${open ? '' : `---${eol}`}${manifest}`;
}

const NOTHING = /^\uFEFF?\s*$/;

/**
 * Removes a document from a stream, with its `---`, its comments, and those directly at it.
 * Comments that a blank line separates stay, as well as everything of other documents. Returns ''
 * if only blank lines are left; `isEmptyStream` decides if the file can be removed.
 */
export function removeDocument(text: string, index: number): string {
  const slices = splitStream(text);
  const slice = sliceAt(slices, index);
  const before = text.slice(0, slice.start) + leftoverBefore(text, slice);
  const rest = before + leftoverBehind(text, slices, slice) + text.slice(slice.end);
  return NOTHING.test(rest) ? '' : rest;
}

/** True if a stream has nothing but comments, directives, markers and blank lines. */
export function isEmptyStream(text: string): boolean {
  return splitStream(text).every((slice) => {
    const from = text.startsWith('---', slice.bodyStart) ? slice.bodyStart + 3 : slice.bodyStart;
    const body = text.slice(from, slice.closedAt ?? slice.end);
    return body.split('\n').every((line) => isBlankOrComment(line, 0, line.length));
  });
}

function endsInBlockScalar(node: ParsedNode | null): boolean {
  return lastBlockScalar(node) !== undefined;
}
