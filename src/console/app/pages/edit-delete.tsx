/** Deleting an object: the name is typed, so that no click alone removes anything. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ErrorNotice, Panel } from '../components/parts.tsx';
import { errorOf } from '../load.ts';
import { go } from '../location.ts';
import { listHref } from '../resources.ts';
import { client } from '../session.ts';
import type { ObjectTabProps } from './object-tab.ts';

export function DeleteObject({
  resource,
  of,
}: Pick<ObjectTabProps, 'resource' | 'of'>): JSX.Element {
  const [name, setName] = useState('');
  const [reason, setReason] = useState('');
  const [error, setError] = useState<Error>();
  const remove = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      await client.delete(resource, of, { reason });
      go(listHref(resource));
    } catch (problem) {
      setError(errorOf(problem));
    }
  };
  return (
    <Panel title="Delete" class="spaced-above">
      <p>
        The commit removes the manifest. Its history stays, and a rollback brings it back with a new
        UID.
      </p>
      {error === undefined ? undefined : <ErrorNotice error={error} />}
      <form class="inline-form" onSubmit={(event) => void remove(event)}>
        <label>
          Name, to confirm
          <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          Reason
          <input
            value={reason}
            maxLength={1024}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="button danger" disabled={name !== of.name}>
          Delete
        </button>
      </form>
    </Panel>
  );
}
