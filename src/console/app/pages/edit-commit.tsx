/** The reason of a change, and the button that makes the commit. */
import type { JSX } from 'preact';
import { ErrorNotice, Panel } from '../components/parts.tsx';
import { href, segments } from '../location.ts';

export function Commit(props: {
  readonly isNew: boolean;
  readonly isDisabled: boolean;
  readonly error: Error | undefined;
  /** True: saving writes fields, though the text has comments. */
  readonly losesComments: boolean;
  /** Whether the manifest in git, which is not valid, is replaced. Undefined: it is valid. */
  readonly force: { readonly value: boolean; set(value: boolean): void } | undefined;
  readonly reason: string;
  readonly setReason: (reason: string) => void;
  readonly onSubmit: () => void;
}): JSX.Element {
  const { isNew, isDisabled, error, losesComments, force, reason, setReason, onSubmit } = props;
  return (
    <Panel title="Commit">
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        <label class="field">
          Reason
          <textarea
            rows={3}
            maxLength={1024}
            value={reason}
            placeholder="Goes into the commit message"
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
        {force === undefined ? undefined : (
          <div class="checks">
            <label>
              <input
                type="checkbox"
                checked={force.value}
                onChange={(event) => force.set(event.currentTarget.checked)}
              />
              Replace the manifest in git, which is not valid
            </label>
          </div>
        )}
        {losesComments ? (
          <p class="muted">
            Saving writes fields. Comments that you change are saved with the right to push.
          </p>
        ) : undefined}
        {error === undefined ? undefined : <ErrorNotice error={error} />}
        <div class="actions">
          <button type="submit" class="button primary" disabled={isDisabled}>
            {isNew ? 'Create' : 'Save'}
          </button>
          <a class="button" href={href(segments.value)}>
            Cancel
          </a>
        </div>
      </form>
    </Panel>
  );
}
