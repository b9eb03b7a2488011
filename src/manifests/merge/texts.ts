/** Three-way merge of texts: of files that are no manifests, and of the documents of manifests. */
import { type JsonObject, jsonEqual } from '../../apimachinery/index.ts';
import { editDocument, ManifestEditError } from '../edit.ts';
import { parseDocument } from '../parse.ts';
import { splitStream } from '../stream.ts';
import { mergeSequences } from './sequences.ts';

export interface Texts {
  readonly base: string;
  readonly tip: string;
  readonly pushed: string;
}

/** As git merges a file. Undefined: both sides changed lines at the same place. */
export function mergeText({ base, tip, pushed }: Texts): string | undefined {
  const rules = { joinsNeighbours: false };
  const merged = mergeSequences(linesOf(base), [linesOf(tip), linesOf(pushed)], rules);
  return merged?.isClean === true ? merged.items.join('') : undefined;
}

/**
 * Both changes, also in neighbouring lines: the caller checks what the result means. Undefined: both
 * sides changed the same line.
 */
export function mergeStream({ base, tip, pushed }: Texts): string | undefined {
  const merged = mergeNeighbours({ base, tip, pushed });
  return merged?.isClean === true ? merged.text : undefined;
}

/**
 * The text of one document with the changes of both sides, comments included, which evaluates to
 * `desired`. Lines that both sides changed are those of the tip, edited.
 */
export function mergeDocument(texts: Texts, desired: JsonObject): string {
  const merged = mergeNeighbours(texts)?.text;
  for (const text of merged === undefined ? [texts.tip] : [merged, texts.tip]) {
    const [slice, ...others] = splitStream(text);
    if (slice === undefined || others.length > 0) continue;
    const read = parseDocument(text, 0);
    if (
      read !== undefined &&
      read.problems.length === 0 &&
      jsonEqual(read.value as never, desired)
    ) {
      return text;
    }
    try {
      return editDocument(text, 0, desired);
    } catch (error) {
      if (!(error instanceof ManifestEditError)) throw error;
    }
  }
  return editDocument(texts.pushed, 0, desired);
}

function mergeNeighbours({
  base,
  tip,
  pushed,
}: Texts): { text: string; isClean: boolean } | undefined {
  const rules = { joinsNeighbours: true };
  const merged = mergeSequences(linesOf(base), [linesOf(tip), linesOf(pushed)], rules);
  return merged && { text: merged.items.join(''), isClean: merged.isClean };
}

/** Lines with their ends. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
