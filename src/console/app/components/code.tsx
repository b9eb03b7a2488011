/** YAML with line numbers and colors, without an editor. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';

export function Code({
  text,
  firstLine = 1,
  label,
}: {
  text: string;
  firstLine?: number;
  label: string;
}): JSX.Element {
  const lines = useMemo(() => text.replace(/\n$/, '').split('\n').map(tokensOf), [text]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll by keyboard
    <section class="code" aria-label={label} tabIndex={0}>
      {lines.map((tokens, index) => (
        <div key={index} class="line">
          <span class="line-number" aria-hidden="true">
            {firstLine + index}
          </span>
          <span class="line-text">
            {tokens.map(({ kind, text: part }, place) => (
              <span key={place} class={kind}>
                {part}
              </span>
            ))}
          </span>
        </div>
      ))}
    </section>
  );
}

interface Token {
  readonly kind: 'key' | 'comment' | 'string' | undefined;
  readonly text: string;
}

const KEY = /^(\s*(?:- +)*)((?:"[^"]*"|'[^']*'|[^\s#:'"][^:#]*):)(?=\s|$)/;

/** A line alone does not tell block scalars apart: colors are a help, not a claim. */
function tokensOf(line: string): readonly Token[] {
  const comment = /^\s*#|\s#/.exec(line);
  const end = comment === null ? line.length : comment.index;
  const code = line.slice(0, end);
  const [, indent = '', key = ''] = KEY.exec(code) ?? [];
  const rest = code.slice(indent.length + key.length);
  const isString = /^\s*["']/.test(rest);
  return [
    { kind: undefined, text: indent },
    { kind: 'key', text: key },
    { kind: isString ? 'string' : undefined, text: rest },
    { kind: 'comment', text: line.slice(end) },
  ].filter(({ text }) => text !== '') as Token[];
}
