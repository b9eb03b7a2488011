/** Values of secrets: set or generated without being shown. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { parse } from 'yaml';
import { Panel } from '../components/parts.tsx';
import { NEW_VALUE, type Path, UNCHANGED, valueAt, withValue } from '../edit/draft.ts';

const GENERATED_BYTES = 24;

export function SecretValues(props: {
  readonly paths: readonly Path[];
  readonly text: string;
  readonly values: ReadonlyMap<string, string>;
  readonly onSet: (path: Path, value: string, text: string) => void;
}): JSX.Element | null {
  const { paths, text, values, onSet } = props;
  const hidden = paths.filter((path) =>
    [UNCHANGED, NEW_VALUE].includes(String(shownAt(text, path))),
  );
  if (hidden.length === 0) return null;
  return (
    <Panel title="Secret values" flush>
      <ul class="rows">
        {hidden.map((path) => (
          <li key={path.join('.')}>
            <OneValue
              path={path}
              isNew={values.has(path.join('.'))}
              onSet={(value) => onSet(path, base64(value), withValue(text, path, NEW_VALUE))}
            />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function shownAt(text: string, path: Path): unknown {
  try {
    return valueAt(parse(text), path);
  } catch {
    return undefined;
  }
}

function OneValue(props: {
  readonly path: Path;
  readonly isNew: boolean;
  readonly onSet: (value: string) => void;
}): JSX.Element {
  const { path, isNew, onSet } = props;
  const [value, setValue] = useState('');
  const name = path.join('.');
  return (
    <form
      class="row-line"
      onSubmit={(event) => {
        event.preventDefault();
        if (value === '') return;
        onSet(value);
        setValue('');
      }}
    >
      <code class="secret-name">{name}</code>
      <span class="muted">{isNew ? 'a new value is set' : 'unchanged'}</span>
      <input
        class="end"
        type="password"
        autocomplete="off"
        aria-label={`New value of ${name}`}
        placeholder="New value"
        value={value}
        onInput={(event) => setValue(event.currentTarget.value)}
      />
      <button type="submit" class="button small" disabled={value === ''}>
        Set
      </button>
      <button type="button" class="button small" onClick={() => onSet(generated())}>
        Generate
      </button>
    </form>
  );
}

function generated(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(GENERATED_BYTES))));
}

/** Of the bytes of the text as UTF-8. */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
