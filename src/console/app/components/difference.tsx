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
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 1);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** Fields that the server sets are no part of a comparison. */
const OF_SERVER = [
  'managedFields',
  'resourceVersion',
  'generation',
  'uid',
  'creationTimestamp',
] as const;

/** Compares two objects as the API shows them, without their status. */
export function compareObjects(before: unknown, after: unknown): FieldChange[] {
  const found: FieldChange[] = [];
  collect(found, '', comparable(before), comparable(after));
  return found;
}

function comparable(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { status: _status, metadata, ...fields } = value;
  if (!isRecord(metadata)) return fields;
  const own = Object.entries(metadata).filter(([name]) => !OF_SERVER.some((one) => one === name));
  return { metadata: Object.fromEntries(own), ...fields };
}

function collect(found: FieldChange[], path: string, before: unknown, after: unknown): void {
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  if (isRecord(before) && isRecord(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      collect(found, path === '' ? key : `${path}.${key}`, before[key], after[key]);
    }
    return;
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    for (const [i, item] of before.entries()) collect(found, `${path}[${i}]`, item, after[i]);
    return;
  }
  found.push({ path, before, after });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
