/** The commands of a page: its fenced `sh` blocks, each with the output that is shown below it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

export interface Block {
  readonly language: string;
  /** Further words behind the language: `fails`, `no-test`, or a name. */
  readonly words: readonly string[];
  readonly text: string;
  /** Of the opening fence, from 1. */
  readonly line: number;
}

export interface Step {
  readonly command: string;
  /** Absent: the output does not matter. */
  readonly output: string | undefined;
  /** A command of the block is meant to fail. */
  readonly fails: boolean;
  /** Names of the block, for tests that pick it. */
  readonly words: readonly string[];
  /** `README.md:57 kubectl get teams`. */
  readonly title: string;
}

export function pageText(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; words: string[]; lines: string[]; line: number } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^ {0,3}```(.*)$/.exec(line)?.[1];
    if (fence === undefined) {
      open?.lines.push(line);
      continue;
    }
    if (open === undefined) {
      const [language = '', ...words] = fence.trim().split(/\s+/);
      open = { language, words, lines: [], line: index + 1 };
    } else {
      const { lines, ...rest } = open;
      blocks.push({ ...rest, text: lines.join('\n') });
      open = undefined;
    }
  }
  return blocks;
}

/** Every `sh` block of a page that is to be run. A `text` block that comes next is its output. */
export function stepsOf(page: string): Step[] {
  const blocks = blocksOf(pageText(page));
  return blocks.flatMap((block, index) => {
    const { language, words, text, line } = block;
    if (language !== 'sh' || words.includes('no-test')) return [];
    const next = blocks[index + 1];
    const output = next?.language === 'text' ? next.text : undefined;
    const [first = ''] = text.split('\n');
    const title = `${page}:${line} ${first}`;
    return [{ command: text, output, fails: words.includes('fails'), words, title }];
  });
}

/** Whether `actual` is what a page shows; `…` stands for any text, on a line of its own for lines. */
export function matchesOutput(expected: string, actual: string): boolean {
  // With a line end before each line the first one is like the others.
  const pattern = trimmedLines(expected).map((line) =>
    line.trim() === '…' ? '(?:\\n.*)*' : `\\n${line.split('…').map(escapePattern).join('.*')}`,
  );
  const text = trimmedLines(actual).map((line) => `\n${line}`);
  return new RegExp(`^${pattern.join('')}$`).test(text.join(''));
}

/** git pads what a server says with spaces. */
function trimmedLines(text: string): string[] {
  return text
    .replace(/^\n+|\s+$/g, '')
    .split('\n')
    .map((line) => line.trimEnd());
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
