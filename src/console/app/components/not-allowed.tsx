/** Text in the place of a button that the server would refuse, with a link to the reason. */
import type { ComponentChildren, JSX } from 'preact';
import type { Resource } from '../../api/objects.ts';
import { href } from '../location.ts';
import { slugOf } from '../resources.ts';

export function NotAllowed(props: {
  readonly verb: string;
  readonly resource: Pick<Resource, 'group' | 'name'>;
  /** Absent: any object of the kind. */
  readonly of?: { readonly namespace: string; readonly name?: string };
  readonly children: ComponentChildren;
}): JSX.Element {
  const { verb, resource, of, children } = props;
  const question = { verb, kind: slugOf(resource), namespace: of?.namespace, name: of?.name };
  return (
    <span class="muted">
      {children} <a href={href(['access'], question)}>Why</a>
    </span>
  );
}
