/** Two objects as YAML, line against line, as `diff -u` shows them. */
import { stringify } from 'yaml';

/** Lines of context around a change. */
const CONTEXT = 3;
/** Longer ones are compared by their ends alone: the comparison is quadratic. */
const MOST_LINES = 2_000;

interface Line {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** Lines that begin with a space, `-` or `+`; empty when nothing differs. */
export function yamlDiff(before: unknown, after: unknown): string[] {
  const lines = compare(yamlLines(before), yamlLines(after));
  const near = (at: number): boolean =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ mark }) => mark !== ' ');
  const shown: string[] = [];
  let skipped = false;
  for (const [at, { mark, text }] of lines.entries()) {
    if (!near(at)) skipped = true;
    else {
      if (skipped && shown.length > 0) shown.push('…');
      skipped = false;
      shown.push(`${mark}${text}`);
    }
  }
  return shown;
}

function yamlLines(value: unknown): string[] {
  const options = { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false };
  return stringify(value, options).trimEnd().split('\n');
}

function compare(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (end < shorter && before.at(-1 - end) === after.at(-1 - end)) end++;
  const same = (text: string): Line => ({ mark: ' ', text });
  return [
    ...before.slice(0, start).map(same),
    ...compareMiddle(
      before.slice(start, before.length - end),
      after.slice(start, after.length - end),
    ),
    ...before.slice(before.length - end).map(same),
  ];
}

/** Keeps the longest common subsequence. */
function compareMiddle(before: readonly string[], after: readonly string[]): Line[] {
  const removed = (text: string): Line => ({ mark: '-', text });
  const added = (text: string): Line => ({ mark: '+', text });
  if (Math.max(before.length, after.length) > MOST_LINES) {
    return [...before.map(removed), ...after.map(added)];
  }
  const common = commonLengths(before, after);
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    const [old = '', made = ''] = [before[i], after[j]];
    if (old === made) {
      lines.push({ mark: ' ', text: old });
      i++;
      j++;
    } else if ((common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0)) {
      lines.push(removed(old));
      i++;
    } else {
      lines.push(added(made));
      j++;
    }
  }
  return [...lines, ...before.slice(i).map(removed), ...after.slice(j).map(added)];
}

/** At [i][j]: how many lines the rests from i and from j have in common. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint16Array[] {
  const rows = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    const [row, below] = [rows[i], rows[i + 1]];
    if (row === undefined || below === undefined) continue;
    for (let j = after.length - 1; j >= 0; j--) {
      row[j] =
        before[i] === after[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return rows;
}
