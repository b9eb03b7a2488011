/** Entries that a map or list loses and gains, applied in its style. */
import { type JsonValue, jsonEqual } from '../../apimachinery/index.ts';
import { flowPair, flowText, itemLines, pairLines } from '../render.ts';
import { OBJECT_KEYS } from '../write.ts';
import { changeBlock, commentStart } from './block.ts';
import { changeFlow } from './flow.ts';
import {
  type Entry,
  isFlow,
  type MapNode,
  propsEnd,
  type SeqNode,
  type WrittenSlot,
} from './slots.ts';
import { type Splice, startsLine } from './splice.ts';
import type { EditTree } from './tree.ts';

export interface NewEntry {
  /** Undefined for items of a list. */
  readonly key: string | undefined;
  readonly value: JsonValue;
  /**
   * Entry that it follows; undefined: it comes first. For keys of a map the place is chosen here.
   */
  readonly after: Entry | undefined;
}

export interface EntryChange {
  readonly slot: WrittenSlot<MapNode | SeqNode>;
  readonly entries: readonly Entry[];
  /** At least one, in order. */
  readonly kept: readonly Entry[];
  /** Keys of the kept entries, for a map. */
  readonly names: ReadonlyMap<Entry, string> | undefined;
  readonly added: readonly NewEntry[];
  readonly json: boolean | undefined;
}

export function changeEntries(tree: EditTree, change: EntryChange): Splice[] {
  const { slot, entries, kept } = change;
  const stays = new Set(kept);
  const removed = new Set(entries.filter((entry) => !stays.has(entry)));
  const groups = grouped(change);
  if (removed.size === 0 && groups.length === 0) return [];
  const owner = slot.node;
  if (isFlow(owner)) {
    const json = change.json === true;
    const added = groups.map(({ after, news }) => ({
      after,
      texts: news.map(({ key, value }) =>
        key === undefined ? flowText(value, { json }) : flowPair(key, value, { json }),
      ),
    }));
    return changeFlow(tree, { owner, entries, removed, added });
  }
  const column = entries[0]?.slot.column ?? 0;
  const movable = new Set(removed);
  const added = groups.map(({ after, news }) => ({
    after,
    lines: news.flatMap(({ key, value }) =>
      key === undefined
        ? (movedLines(tree, movable, value) ?? itemLines(value, column, tree.style))
        : pairLines(key, value, { column, style: tree.style }),
    ),
  }));
  const belowComment = change.names !== undefined;
  return changeBlock(tree, { owner, entries, removed, added, from: propsEnd(slot), belowComment });
}

/** Source of an item that only moves, taken from the removed ones. */
function movedLines(tree: EditTree, movable: Set<Entry>, value: JsonValue): string[] | undefined {
  // An anchor or alias may have another meaning at the new place.
  if (tree.aliases.size > 0) return undefined;
  for (const entry of movable) {
    const { node } = entry.slot;
    if (node === null || !jsonEqual(tree.values.get(node), value)) continue;
    movable.delete(entry);
    return entryLines(tree.source, entry);
  }
  return undefined;
}

interface Group {
  readonly after: Entry | undefined;
  readonly news: NewEntry[];
}

/** New entries by place. */
function grouped(change: EntryChange): Group[] {
  const groups = new Map<Entry | undefined, NewEntry[]>();
  for (const entry of placed(change)) {
    const news = groups.get(entry.after) ?? [];
    news.push(entry);
    groups.set(entry.after, news);
  }
  return [...groups].map(([after, news]) => ({ after, news }));
}

/** New keys are appended to their map; common object keys get their usual place at the top. */
function placed({ slot, kept, names, added }: EntryChange): readonly NewEntry[] {
  if (names === undefined) return added;
  if (slot.kind !== 'root') return added.map((entry) => ({ ...entry, after: kept.at(-1) }));
  const rank = ({ key = '' }: NewEntry) => OBJECT_KEYS.indexOf(key);
  return added
    .toSorted((a, b) => rank(a) - rank(b))
    .map((entry) => {
      const before = OBJECT_KEYS.slice(0, Math.max(0, rank(entry)));
      const after = kept.findLast((other) => before.includes(names.get(other) ?? ''));
      return { ...entry, after: rank(entry) === -1 ? kept.at(-1) : after };
    });
}

/** Lines of an entry with its comments, for another place. */
function entryLines(source: string, entry: Entry): string[] | undefined {
  if (!startsLine(source, entry.start)) return undefined;
  const text = source.slice(commentStart(source, entry.start, 0), entry.tail);
  return text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
}
