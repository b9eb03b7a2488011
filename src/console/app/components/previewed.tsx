/** The result of a write before it is made: the file, or the fields without the right to clone; and the effect. */
import type { JSX } from 'preact';
import type { WritePreview } from '../../api/objects.ts';
import { Diff } from './diff.tsx';
import { FieldChanges } from './difference.tsx';
import { Effect } from './effect.tsx';
import { Panel } from './parts.tsx';

export function Previewed({ preview }: { preview: WritePreview }): JSX.Element {
  const { path, before, after, effect, object } = preview;
  const { kind, metadata } = object;
  const of = { kind, namespace: metadata.namespace ?? '', name: metadata.name };
  const own = effect?.changes.find(
    (change) => change.kind === kind && change.name === metadata.name,
  );
  return (
    <>
      {path === undefined ? (
        <Panel title="Fields" flush>
          <FieldChanges fields={own?.fields ?? []} />
          <p class="muted">The bytes of the file take the right to clone the repository.</p>
        </Panel>
      ) : (
        <Panel title={path ?? 'No change of a file'} flush>
          <Diff before={before ?? ''} after={after ?? ''} label="Change of the file" />
        </Panel>
      )}
      {effect === undefined ? undefined : <Effect effect={effect} of={of} />}
    </>
  );
}
