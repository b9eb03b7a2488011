/** Verdict on a draft, the change of the file, and its effect. */
import type { JSX } from 'preact';
import { ErrorNotice, Notice, Panel } from '../components/parts.tsx';
import { Previewed } from '../components/previewed.tsx';
import type { Check } from '../edit/checks.ts';

export function Verdict({
  result,
  isOutdated,
}: {
  result: Check | undefined;
  /** True: the text is the last good version, and the manifest in git is not valid. */
  isOutdated: boolean;
}): JSX.Element {
  const problems = result?.marks.length ?? 0;
  const isGood =
    result !== undefined && problems === 0 && result.error === undefined && !isOutdated;
  return (
    <span class={isGood ? 'check good' : 'check'} role="status">
      {result === undefined
        ? 'Checking…'
        : isGood
          ? 'The server accepts it'
          : isOutdated
            ? 'The last good version, not that in git'
            : `${Math.max(problems, 1)} ${problems > 1 ? 'problems' : 'problem'}`}
    </span>
  );
}

export function ChangePreview({
  result,
  isUnchanged,
}: {
  result: Check | undefined;
  isUnchanged: boolean;
}): JSX.Element | null {
  if (result === undefined || isUnchanged) return null;
  const { preview, error, marks } = result;
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (marks.length > 0) {
    return (
      <Panel title="Problems" flush>
        <ul class="rows">
          {marks.map(({ message }) => (
            <li key={message} class="message">
              {message}
            </li>
          ))}
        </ul>
      </Panel>
    );
  }
  if (preview === undefined) {
    return (
      <Notice tone="info">
        <p>The change and its effect take the right to get the object.</p>
      </Notice>
    );
  }
  return <Previewed preview={preview} />;
}
