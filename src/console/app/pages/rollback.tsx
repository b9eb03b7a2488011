/** Rolling an object back, after its change was shown. */
import type { JSX } from 'preact';
import type { HistoryEntry } from '../../api/objects.ts';
import { Revision } from '../components/parts.tsx';
import { ProposedChange } from '../components/proposed-change.tsx';
import { isDegraded } from '../health.ts';
import { useLoad } from '../load.ts';
import { client } from '../session.ts';
import type { ObjectTabProps } from './object-tab.ts';

export function Rollback(
  props: ObjectTabProps & {
    readonly entry: Pick<HistoryEntry, 'revision' | 'message'>;
    /** The change that this takes back, where it is the newest one. */
    readonly undone?: HistoryEntry | undefined;
    /** Word of the button. */
    readonly verb?: string;
    readonly mayClone: boolean;
    readonly onClose: () => void;
  },
): JSX.Element {
  const { resource, of, object, entry, undone, mayClone, onClose } = props;
  const { revision } = entry;
  const drops = object !== undefined && isDegraded(object);
  const asked = { revision, ...(drops ? { force: true } : {}) };
  const preview = useLoad(
    () => client.previewRollback(resource, of, { rollback: asked, mayClone }),
    [revision, object?.metadata.resourceVersion],
  );
  const { verb = undone === undefined ? 'Roll back' : 'Undo' } = props;
  return (
    <ProposedChange
      title={verb}
      aside={<Revision id={revision} />}
      preview={preview}
      submit={verb}
      onSubmit={(reason) =>
        client.rollback(resource, of, { ...asked, ...(reason === '' ? {} : { reason }) })
      }
      onClose={onClose}
    >
      {undone === undefined ? undefined : (
        <p>
          This takes back <strong>{undone.message}</strong> by {undone.author.name}.
        </p>
      )}
      <p>
        The object becomes what it was after <strong>{entry.message}</strong>. This is a new commit
        by you; nothing is removed from the history.
      </p>
      {drops ? (
        <p>The newest manifest, which is not valid, is replaced. The commit message names it.</p>
      ) : undefined}
    </ProposedChange>
  );
}
