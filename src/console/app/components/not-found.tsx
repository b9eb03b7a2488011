/** Page in the place of one that does not exist. */
import type { JSX } from 'preact';
import { href } from '../location.ts';
import { PageHead } from './parts.tsx';

/** `problem`: of the address. Undefined: no page has it. */
export function NotFound({ problem }: { problem?: string | undefined }): JSX.Element {
  const title = problem === undefined ? 'No page has this address' : 'This address cannot be read';
  return (
    <div class="empty-page">
      <PageHead title={title} />
      {problem === undefined ? undefined : <p class="message">{problem}.</p>}
      <p>
        <a href={href([], { at: undefined })}>Back to the overview</a>
      </p>
    </div>
  );
}
