/** The choice between the form, the YAML, and both beside each other. */
import type { JSX } from 'preact';
import { editView, setEditView } from '../memory.ts';

const VIEWS = [
  ['form', 'Form'],
  ['both', 'Both'],
  ['yaml', 'YAML'],
] as const;

export function EditViews(): JSX.Element {
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">Edit as</legend>
      {VIEWS.map(([view, label]) => (
        <button
          key={view}
          type="button"
          class="button small"
          aria-pressed={editView.value === view}
          onClick={() => setEditView(view)}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}
