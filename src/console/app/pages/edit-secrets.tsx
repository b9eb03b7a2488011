/** Values of secrets: set or generated without being shown. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { parse } from 'yaml';
import type { KubeObject } from '../../api/objects.ts';
import { decoded } from '../components/field-tree.tsx';
import { Panel } from '../components/parts.tsx';
import { NEW_VALUE, UNCHANGED, valueAt } from '../edit/draft.ts';
import { type Path, withValue } from '../edit/splice.ts';

const GENERATED_BYTES = 24;

export function SecretValues(props: {
  readonly paths: readonly Path[];
  readonly text: string;
  /** The object with its present values. Undefined: it is new. */
  readonly current: KubeObject | undefined;
  readonly values: ReadonlyMap<string, string>;
  readonly onSet: (path: Path, value: string, text: string) => void;
}): JSX.Element | null {
  const { paths, text, current, values, onSet } = props;
  const hidden = paths.filter((path) =>
    [UNCHANGED, NEW_VALUE].includes(String(shownAt(text, path))),
  );
  if (hidden.length === 0) return null;
  const stateOf = (path: Path): { isNew: boolean; value: unknown } => {
    const isNew = shownAt(text, path) === NEW_VALUE;
    return { isNew, value: isNew ? values.get(path.join('.')) : valueAt(current, path) };
  };
  return (
    <Panel title="Secret values" flush>
      <ul class="rows">
        {hidden.map((path) => (
          <li key={path.join('.')}>
            <OneValue
              path={path}
              {...stateOf(path)}
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
  /** Undefined without the right to read it. */
  readonly value: unknown;
  readonly onSet: (value: string) => void;
}): JSX.Element {
  const { path, isNew, onSet } = props;
  const [value, setValue] = useState('');
  const [isShown, setShown] = useState(false);
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
      {typeof props.value === 'string' ? (
        <span class="secret">
          {isShown ? <code>{decoded(props.value)}</code> : undefined}
          <button
            type="button"
            class="button small"
            aria-label={`${isShown ? 'Hide' : 'Show'} ${name}`}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? 'Hide' : 'Show'}
          </button>
        </span>
      ) : undefined}
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

export function generated(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(GENERATED_BYTES))));
}

/** Of the bytes of the text as UTF-8. */
export function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
