/** The difference of two texts, line by line. */
import { structuredPatch } from 'diff';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Empty } from './parts.tsx';

const CONTEXT_LINES = 3;

export function Diff({
  before,
  after,
  label,
}: {
  before: string;
  after: string;
  label: string;
}): JSX.Element {
  const hunks = useMemo(
    () =>
      structuredPatch('', '', before, after, '', '', { context: CONTEXT_LINES }).hunks.map(
        ({ lines, oldStart, newStart }) => ({ oldStart, newStart, lines }),
      ),
    [before, after],
  );
  if (hunks.length === 0) return <Empty>No difference.</Empty>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll by keyboard
    <section class="diff" aria-label={label} tabIndex={0}>
      {hunks.map((hunk) => (
        <div key={`${hunk.oldStart}-${hunk.newStart}`} class="hunk">
          <Lines {...hunk} />
        </div>
      ))}
    </section>
  );
}

function Lines(hunk: {
  readonly lines: readonly string[];
  readonly oldStart: number;
  readonly newStart: number;
}): JSX.Element {
  let [oldLine, newLine] = [hunk.oldStart, hunk.newStart];
  const rows = hunk.lines
    .filter((line) => !line.startsWith('\\'))
    .map((line) => {
      const sign = line[0] ?? ' ';
      const row = {
        sign,
        text: line.slice(1),
        number: sign === '-' ? oldLine : newLine,
      };
      if (sign !== '+') oldLine++;
      if (sign !== '-') newLine++;
      return row;
    });
  return (
    <>
      {rows.map(({ sign, text, number }) => (
        <div
          key={`${sign}${number}`}
          class={sign === '+' ? 'line added' : sign === '-' ? 'line removed' : 'line'}
        >
          <span class="line-number" aria-hidden="true">
            {number}
          </span>
          <span class="line-sign">
            {sign}
            <span class="visually-hidden">
              {sign === '+' ? 'added ' : sign === '-' ? 'removed ' : ''}
            </span>
          </span>
          <span class="line-text">{text}</span>
        </div>
      ))}
    </>
  );
}
