/** A change before it is made: the bytes that the commit would leave, the reason, and the commit. */
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError } from '../../../client/index.ts';
import type { WritePreview } from '../../api/objects.ts';
import { announce } from '../announcement.ts';
import { errorOf, type Loaded } from '../load.ts';
import { Opened } from './opened.tsx';
import { ErrorNotice, Loading, Notice, Panel } from './parts.tsx';
import { Previewed } from './previewed.tsx';

export function ProposedChange(props: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  /** Undefined: there is nothing to show yet. */
  readonly preview: Pick<Loaded<WritePreview>, 'value' | 'error' | 'isLoading'> | undefined;
  readonly submit: string;
  /** A name that has to be typed first, so that no click alone removes anything. */
  readonly confirm?: string;
  readonly onSubmit: (reason: string) => Promise<unknown>;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const { title, aside, preview, submit, confirm, onSubmit, onClose, children } = props;
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const [state, setState] = useState<{ isBusy: boolean; error?: Error }>({ isBusy: false });
  const commit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setState({ isBusy: true });
    try {
      await onSubmit(reason);
      announce('Committed');
      onClose();
    } catch (error) {
      setState({ isBusy: false, error: errorOf(error) });
    }
  };
  return (
    <Opened onClose={onClose}>
      <Panel title={title} class="accented" aside={aside}>
        {children}
        <Preview preview={preview} />
        {state.error === undefined ? undefined : <ErrorNotice error={state.error} />}
        <form class="inline-form" onSubmit={(event) => void commit(event)}>
          {confirm === undefined ? undefined : (
            <label>
              Name, to confirm
              <input
                value={typed}
                autocomplete="off"
                onInput={(event) => setTyped(event.currentTarget.value)}
              />
            </label>
          )}
          <label>
            Reason
            <input
              value={reason}
              maxLength={1024}
              placeholder="Goes into the commit"
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          </label>
          <button
            type="submit"
            class={confirm === undefined ? 'button primary' : 'button danger'}
            disabled={
              state.isBusy || !isPossible(preview) || (confirm !== undefined && typed !== confirm)
            }
          >
            {submit}
          </button>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
        </form>
      </Panel>
    </Opened>
  );
}

type Shown = Parameters<typeof ProposedChange>[0]['preview'];

function Preview({ preview }: { preview: Shown }): JSX.Element | null {
  if (preview === undefined) return null;
  const { value, error, isLoading } = preview;
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (value === undefined) return isLoading ? <Loading what="Computing the change" /> : null;
  if (value.path === null) {
    return (
      <Notice tone="info">
        <p>Nothing would change: it is like this already.</p>
      </Notice>
    );
  }
  return (
    <div class="previewed">
      <Previewed preview={value} />
    </div>
  );
}

/** False where the server has refused the dry run: it would refuse the write. */
function isPossible(preview: Shown): boolean {
  if (preview === undefined || preview.isLoading) return false;
  const { error, value } = preview;
  if (error === undefined) return value?.path !== null;
  return !(error instanceof ApiError) || error.code === 429 || error.code >= 500;
}
