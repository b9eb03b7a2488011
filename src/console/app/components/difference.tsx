/** Differences of two versions of an object: its fields with both values. */
import type { JSX } from 'preact';
import type { FieldChange } from '../../api/plan.ts';

const LONGEST = 2000;

/** A table of fields, with the values before and after. */
export function FieldChanges({ fields }: { fields: readonly FieldChange[] }): JSX.Element {
  return (
    <div class="scroll">
      <table class="grid">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {fields.map(({ path, before, after, masked }) => (
            <tr key={path}>
              <th scope="row">
                <code>{path}</code>
              </th>
              <td data-label="Before">
                {before === undefined ? <None /> : <Value value={before} mark="removed" />}
              </td>
              <td data-label="After">
                {after === undefined ? <None /> : <Value value={after} mark="added" />}
              </td>
              {masked === true ? <td class="visually-hidden">The values are secret</td> : undefined}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function None(): JSX.Element {
  return <span class="muted">none</span>;
}

function Value({ value, mark }: { value: unknown; mark: string }): JSX.Element {
  return <code class={`value ${mark}`}>{textOf(value)}</code>;
}

export function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
