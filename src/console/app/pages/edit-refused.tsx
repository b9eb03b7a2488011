/** The tab of the editor for those who may read an object and not change it. */
import type { JSX } from 'preact';
import { NotAllowed } from '../components/not-allowed.tsx';
import { Notice } from '../components/parts.tsx';
import { ObjectSourceView } from './object-source.tsx';
import type { ObjectTabProps } from './object-tab.ts';

export function NotEditable(props: ObjectTabProps): JSX.Element {
  const { resource, of } = props;
  return (
    <div class="stack">
      <Notice tone="info" title="You may read this object, not change it">
        <p>
          <NotAllowed verb="update" resource={resource} of={of}>
            A change takes the right to <code>update</code> it.
          </NotAllowed>
        </p>
      </Notice>
      <ObjectSourceView {...props} />
    </div>
  );
}
