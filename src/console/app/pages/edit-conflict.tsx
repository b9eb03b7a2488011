/** Another write was faster: its changes are taken over, and fields that both changed are chosen. */
import type { JSX } from 'preact';
import { Notice, Panel } from '../components/parts.tsx';
import type { Merged } from '../edit/merge.ts';
import type { Path } from '../edit/splice.ts';

export function Conflict({
  merged,
  onTake,
}: {
  merged: Merged;
  onTake: (path: Path, value: unknown) => void;
}): JSX.Element {
  const { taken, conflicts } = merged;
  return (
    <Panel title="Another change was faster" class="accented">
      {taken.length > 0 ? (
        <p>Taken over into your text: {taken.map(({ path }) => path.join('.')).join(', ')}.</p>
      ) : undefined}
      {conflicts.length === 0 ? (
        <Notice tone="good">
          <p>No field was changed by both. Save again.</p>
        </Notice>
      ) : (
        <table class="conflicts">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Yours</th>
              <th scope="col">Theirs</th>
            </tr>
          </thead>
          <tbody>
            {conflicts.map(({ path, mine, theirs }) => (
              <tr key={path.join('.')}>
                <th scope="row">
                  <code>{path.join('.')}</code>
                </th>
                <Side value={mine} label="Keep yours" onTake={() => onTake(path, mine)} />
                <Side value={theirs} label="Take theirs" onTake={() => onTake(path, theirs)} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function Side(props: { value: unknown; label: string; onTake: () => void }): JSX.Element {
  const { value, label, onTake } = props;
  return (
    <td>
      <code>{value === undefined ? 'absent' : JSON.stringify(value)}</code>{' '}
      <button type="button" class="button small" onClick={onTake}>
        {label}
      </button>
    </td>
  );
}
