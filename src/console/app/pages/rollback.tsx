/** Rolling an object back: the bytes that the commit would leave, the reason, and the commit. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { HistoryEntry } from '../../api/objects.ts';
import { Diff } from '../components/diff.tsx';
import { ErrorNotice, Loading, Notice, Panel, Revision } from '../components/parts.tsx';
import { errorOf, useLoad } from '../load.ts';
import { client } from '../session.ts';
import type { ObjectTabProps } from './object-tab.ts';

export function Rollback(
  props: Pick<ObjectTabProps, 'resource' | 'of'> & {
    readonly entry: HistoryEntry;
    readonly onClose: () => void;
  },
): JSX.Element {
  const { resource, of, entry, onClose } = props;
  const { revision } = entry;
  const preview = useLoad(() => client.previewRollback(resource, of, revision), [revision]);
  const [reason, setReason] = useState('');
  const [state, setState] = useState<{ isBusy: boolean; error?: Error }>({ isBusy: false });
  const rollBack = async (event: Event): Promise<void> => {
    event.preventDefault();
    setState({ isBusy: true });
    try {
      await client.rollback(resource, of, { revision, ...(reason === '' ? {} : { reason }) });
      onClose();
    } catch (error) {
      setState({ isBusy: false, error: errorOf(error) });
    }
  };
  return (
    <Panel title="Roll back" class="accented" aside={<Revision id={revision} />}>
      <p>
        The object becomes what it was after <strong>{entry.message}</strong>. This is a new commit
        by you; nothing is removed from the history.
      </p>
      {preview.error === undefined ? undefined : <ErrorNotice error={preview.error} />}
      {preview.isLoading ? <Loading what="Working out the change" /> : undefined}
      {preview.value === undefined ? undefined : (
        <div class="framed">
          <Diff
            before={preview.value.before ?? ''}
            after={preview.value.after ?? ''}
            label="Change of the file"
          />
        </div>
      )}
      {state.error === undefined ? undefined : <ErrorNotice error={state.error} />}
      <form class="inline-form" onSubmit={(event) => void rollBack(event)}>
        <label>
          Reason
          <input
            value={reason}
            maxLength={1024}
            placeholder="Goes into the commit"
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="button primary" disabled={state.isBusy}>
          Roll back
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      </form>
      {preview.value?.path === null ? (
        <Notice tone="info">
          <p>The object is like this already.</p>
        </Notice>
      ) : undefined}
    </Panel>
  );
}
