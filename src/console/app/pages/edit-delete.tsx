/** Deleting an object: its effect is shown first, and the name is typed, so that no click alone removes anything. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { preview } from '../../api/client.ts';
import type { WritePreview } from '../../api/objects.ts';
import { Panel } from '../components/parts.tsx';
import { ProposedChange } from '../components/proposed-change.tsx';
import { useLoad } from '../load.ts';
import { go } from '../location.ts';
import { listHref } from '../resources.ts';
import { client } from '../session.ts';
import type { ObjectTabProps } from './object-tab.ts';

type Props = Pick<ObjectTabProps, 'resource' | 'of'> & { readonly mayClone: boolean };

export function DeleteObject(props: Props): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="spaced-above">
      {isOpen ? <Deletion {...props} onClose={() => setOpen(false)} /> : undefined}
      <div hidden={isOpen}>
        <Panel title="Delete">
          <div class="row-line">
            <p>The commit removes the manifest. Its history stays.</p>
            <span class="end">
              <button type="button" class="button danger" onClick={() => setOpen(true)}>
                Delete…
              </button>
            </span>
          </div>
        </Panel>
      </div>
    </div>
  );
}

function Deletion({
  resource,
  of,
  mayClone,
  onClose,
}: Props & { onClose: () => void }): JSX.Element {
  const change = useLoad(
    (signal) =>
      client.json<WritePreview>(client.objectPath(resource, of), {
        method: 'DELETE',
        query: preview(mayClone),
        signal,
      }),
    [resource, of.namespace, of.name],
  );
  return (
    <ProposedChange
      title="Delete"
      preview={change}
      submit="Delete"
      confirm={of.name}
      onClose={onClose}
      onSubmit={async (reason) => {
        await client.delete(resource, of, { reason });
        go(listHref(resource));
      }}
    >
      <p>
        The commit removes the manifest. Its history stays, and a rollback brings it back with a new
        UID.
      </p>
    </ProposedChange>
  );
}
