/** Two objects as YAML, line against line, as `diff -u` shows them. */
import { structuredPatch } from 'diff';
import { stringify } from 'yaml';

/** Lines of context around a change. */
const CONTEXT = 3;
/** Lines that may differ in a comparison, which takes time and memory with their square. */
const MOST_EDITS = 2_000;

/** Lines that begin with a space, `-` or `+`, and `…` between hunks; empty when nothing differs. */
export function yamlDiff(before: unknown, after: unknown): string[] {
  const [old, made] = [yamlText(before), yamlText(after)];
  const options = { context: CONTEXT, maxEditLength: MOST_EDITS };
  const patch = structuredPatch('', '', old, made, '', '', options);
  if (patch === undefined) return [...marked('-', old), ...marked('+', made)];
  return patch.hunks.flatMap(({ lines }, at) => (at === 0 ? lines : ['…', ...lines]));
}

function yamlText(value: unknown): string {
  const options = { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false };
  return `${stringify(value, options).trimEnd()}\n`;
}

function marked(mark: '-' | '+', text: string): string[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => mark + line);
}
