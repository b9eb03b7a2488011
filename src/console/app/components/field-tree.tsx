/** The fields of an object with their descriptions, and the commit that set each. Secrets are hidden. */
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Blame } from '../../api/objects.ts';
import { ago, shortRevision } from '../format.ts';
import { fieldSchema, isSecret, type Schema } from '../schema.ts';

export interface FieldTreeProps {
  readonly value: Readonly<Record<string, unknown>>;
  readonly schema: Schema | undefined;
  /** Path of `value` in the object: `spec`. */
  readonly path: string;
  readonly blame: Blame | undefined;
}

type Blamed = ReadonlyMap<string, string>;

export function FieldTree({ value, schema, path, blame }: FieldTreeProps): JSX.Element {
  const blamed: Blamed = new Map(
    blame?.fields.flatMap((field) =>
      field.revision === undefined ? [] : [[field.path, field.revision] as const],
    ),
  );
  return (
    <div class="fields">
      <Fields {...{ value, schema, path, blame, blamed }} />
    </div>
  );
}

type Level = FieldTreeProps & { readonly blamed: Blamed };

function Fields({ value, schema, path, ...rest }: Level): JSX.Element {
  return (
    <dl>
      {Object.entries(value).map(([name, field]) => (
        <Field
          key={name}
          name={name}
          value={field}
          schema={fieldSchema(schema, name)}
          path={`${path}.${name}`}
          {...rest}
        />
      ))}
    </dl>
  );
}

type OneField = Omit<Level, 'value'> & { readonly name: string; readonly value: unknown };

function Field({ name, value, schema, path, blame, blamed }: OneField): JSX.Element {
  const setBy =
    blame === undefined ? undefined : <SetBy {...{ blame, revision: blamed.get(path) }} />;
  return (
    <div class="field-row">
      <dt>
        <span class="field-name">{name}</span>
        {schema?.description === undefined ? undefined : (
          <span class="field-note">{withCode(schema.description)}</span>
        )}
      </dt>
      <dd>
        <Value {...{ value, schema, path, blame, blamed }} />
        {setBy}
      </dd>
    </div>
  );
}

/** Words between backticks as code. */
export function withCode(text: string): ComponentChildren {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}

function Value({ value, schema, path, blame, blamed }: Omit<OneField, 'name'>): JSX.Element {
  if (isSecret(schema)) return <Secret value={value} />;
  if (Array.isArray(value)) {
    const isFlat = value.every((item) => typeof item !== 'object' || item === null);
    return isFlat ? (
      <Chips values={value} {...{ path, blame, blamed }} />
    ) : (
      <ol class="field-items">
        {value.map((item, index) => (
          <li key={index}>
            <Value
              {...{ value: item, schema: schema?.items, path: `${path}[${index}]`, blame, blamed }}
            />
          </li>
        ))}
      </ol>
    );
  }
  if (typeof value === 'object' && value !== null) {
    const record = value as Readonly<Record<string, unknown>>;
    if (Object.keys(record).length === 0) return <span class="muted">empty</span>;
    return <Fields {...{ value: record, schema, path, blame, blamed }} />;
  }
  return <Scalar value={value} />;
}

function Scalar({ value }: { value: unknown }): JSX.Element {
  if (value === '' || value === null || value === undefined) {
    return <span class="muted">{value === '' ? 'empty text' : 'none'}</span>;
  }
  const text = String(value);
  return text.includes('\n') ? <pre class="field-text">{text}</pre> : <span>{text}</span>;
}

function Chips(props: {
  readonly values: readonly unknown[];
  readonly path: string;
  readonly blame: Blame | undefined;
  readonly blamed: Blamed;
}): JSX.Element {
  const { values, path, blame, blamed } = props;
  if (values.length === 0) return <span class="muted">none</span>;
  return (
    <ul class="chips">
      {values.map((value, index) => (
        <li key={String(value)}>
          <span class="chip">{String(value)}</span>
          {blame === undefined ? undefined : (
            <SetBy {...{ blame, revision: blamed.get(`${path}[${index}]`) }} />
          )}
        </li>
      ))}
    </ul>
  );
}

/** Hidden until the user asks; the screen may be shared. */
function Secret({ value }: { value: unknown }): JSX.Element {
  const [isShown, setShown] = useState(false);
  const text = String(value ?? '');
  return (
    <span class="secret">
      {isShown ? <code>{decoded(text)}</code> : <span class="muted">hidden</span>}
      <button type="button" class="button small" onClick={() => setShown(!isShown)}>
        {isShown ? 'Hide' : 'Show'}
      </button>
    </span>
  );
}

/** Base64 of a text, as that text. */
export function decoded(text: string): string {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return text;
  try {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return text;
  }
}

function SetBy({
  blame,
  revision,
}: {
  blame: Blame;
  revision: string | undefined;
}): JSX.Element | null {
  const commit = revision === undefined ? undefined : blame.commits[revision];
  if (revision === undefined || commit === undefined) return null;
  return (
    <span class="set-by" title={commit.message}>
      <code>{shortRevision(revision)}</code> {commit.author.name}, {ago(commit.time)}
    </span>
  );
}
