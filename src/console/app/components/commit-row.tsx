/** A commit in a list: subject, author, time and id, the box that chooses it for a comparison, its changes, and actions. */
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { CommitSignature } from '../../api/objects.ts';
import { Revision, Time } from './parts.tsx';
import { Signature } from './signature.tsx';

export interface ShownCommit {
  readonly revision: string;
  readonly subject: string;
  readonly author: { readonly name: string };
  readonly time: string;
  readonly signature?: CommitSignature | undefined;
}

export function CommitRow(props: {
  readonly commit: ShownCommit;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  /** Badges before and after the subject. */
  readonly before?: ComponentChildren;
  readonly after?: ComponentChildren;
  /** Rendered when they are opened. Absent: the commit has no parent to compare with. */
  readonly changes?: (() => JSX.Element) | undefined;
  readonly actions: ComponentChildren;
  /** Behind the id of the commit. */
  readonly note?: ComponentChildren;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const { commit, isChosen, onChoose, before, after, changes, actions, note, children } = props;
  const { revision, subject, author, time, signature } = commit;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <div class="commit">
        <div class="commit-text">
          <div class="row-line">
            <input
              type="checkbox"
              aria-label={`Compare ${revision.slice(0, 8)}`}
              checked={isChosen}
              onChange={onChoose}
            />
            {before}
            <span class="subject">{subject}</span>
            <Signature of={signature} />
            {after}
          </div>
          <p class="muted entry-note">
            {author.name} · <Time value={time} /> · <Revision id={revision} />
            {note}
          </p>
        </div>
        <div class="actions">
          {changes === undefined ? undefined : (
            <button
              type="button"
              class="button small"
              aria-expanded={isOpen}
              onClick={() => setOpen(!isOpen)}
            >
              Changes
            </button>
          )}
          {actions}
        </div>
      </div>
      {children}
      {isOpen ? changes?.() : undefined}
    </>
  );
}

/** Two commits at most: a third one takes the place of the first. */
export function useChosen(): readonly [readonly string[], (revision: string) => void] {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const choose = (revision: string): void =>
    setChosen((before) =>
      before.includes(revision)
        ? before.filter((one) => one !== revision)
        : [...before, revision].slice(-2),
    );
  return [chosen, choose];
}
