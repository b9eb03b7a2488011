/** The tab of the editor for those who may read an object and not change it. */
import type { JSX } from 'preact';
import type { ObjectRef, Resource } from '../../api/objects.ts';
import { Notice } from '../components/parts.tsx';
import { href } from '../location.ts';
import { slugOf } from '../resources.ts';
import { client } from '../session.ts';
import { ObjectSourceView } from './object-source.tsx';
import type { ObjectTabProps } from './object-tab.ts';

/** The server decides again when it is done. */
export async function isAllowed(verb: string, resource: Resource, of: ObjectRef): Promise<boolean> {
  const { group, name: plural } = resource;
  const { namespace, name } = of;
  const query = { verb, group, resource: plural, namespace: namespace || undefined, name };
  return (await client.api.get('/access/explain', { query })).allowed;
}

export function NotEditable(props: ObjectTabProps): JSX.Element {
  const { resource, of } = props;
  const kind = slugOf(resource);
  const question = { verb: 'update', kind, namespace: of.namespace, name: of.name };
  return (
    <div class="stack">
      <Notice tone="info" title="You may read this object, not change it">
        <p>
          A change takes the right to <code>update</code> it.{' '}
          <a href={href(['access'], question)}>Why</a>
        </p>
      </Notice>
      <ObjectSourceView {...props} />
    </div>
  );
}
