/**
 * A form made from a JSON schema: a field per property, with its description. Each change is reported as a
 * path and a value, so that the text beside it changes at that place alone.
 */
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Path } from '../edit/splice.ts';
import { fieldSchema, isSecret, type Schema } from '../schema.ts';
import { withCode } from './field-tree.tsx';

export interface FormEdits {
  /** Undefined removes the value. */
  readonly onChange: (path: Path, value: unknown) => void;
  /** Adds a secret with a generated value. */
  readonly onNewSecret: (path: Path) => void;
}

interface FieldProps {
  readonly edits: FormEdits;
  readonly path: Path;
  readonly schema: Schema;
  readonly value: unknown;
  readonly isRequired?: boolean | undefined;
}

/** Depth of fields in fields; deeper values are edited as YAML. */
const DEEPEST = 6;

export function Fields(
  props: Omit<FieldProps, 'isRequired'> & { readonly only?: readonly string[] },
): JSX.Element {
  const { edits, path, schema, value, only } = props;
  const entries = Object.entries(schema.properties ?? {}).filter(
    ([name, field]) => field.readOnly !== true && (only === undefined || only.includes(name)),
  );
  return (
    <>
      {entries.map(([name, field]) => {
        const own = recordOf(value)[name];
        // A deprecated field is shown where it is used.
        if (field.deprecated === true && own === undefined) return undefined;
        const isRequired = schema.required?.includes(name);
        return (
          <Field
            key={name}
            {...{ edits, path: [...path, name], schema: field, value: own, isRequired }}
          />
        );
      })}
    </>
  );
}

function Field(props: FieldProps): JSX.Element {
  const { edits, path, schema, value } = props;
  const { type, properties, additionalProperties, items } = schema;
  if (isSecret(schema)) return <Described {...props} control={<SecretMark value={value} />} />;
  const isGroup =
    properties !== undefined || type === 'array' || typeof additionalProperties === 'object';
  if (!isGroup) return <Labelled {...props} />;
  const control =
    path.length > DEEPEST ? (
      <AsYaml value={value} />
    ) : properties !== undefined ? (
      <Fields {...{ edits, path, schema, value }} />
    ) : type === 'array' && items !== undefined ? (
      <List {...props} items={items} />
    ) : (
      <Entries {...props} />
    );
  return <Described {...props} control={control} isGroup />;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** `displayName` as `Display name`. */
function labelOf(step: string | number | undefined): string {
  const words = String(step ?? '').replace(
    /([a-z\d])([A-Z])/g,
    (_all, a: string, b: string) => `${a} ${b.toLowerCase()}`,
  );
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const idOf = (path: Path): string => `field-${path.join('.')}`;

function Note({ path, schema }: Pick<FieldProps, 'path' | 'schema'>): JSX.Element | null {
  const { description } = schema;
  if (description === undefined) return null;
  return (
    <span class="field-note" id={`${idOf(path)}-note`}>
      {withCode(description)}
    </span>
  );
}

function Described(
  props: FieldProps & { readonly control: ComponentChildren; readonly isGroup?: boolean },
): JSX.Element {
  const { path, schema, control, isGroup = false } = props;
  return (
    <fieldset class={isGroup ? 'form-group' : 'form-field'}>
      <legend class="field-name">{labelOf(path.at(-1))}</legend>
      <Note path={path} schema={schema} />
      {control}
    </fieldset>
  );
}

function Labelled(props: FieldProps): JSX.Element {
  const { path, schema, isRequired } = props;
  return (
    <div class="form-field">
      <label class="field-name" for={idOf(path)}>
        {labelOf(path.at(-1))}
        {isRequired === true ? <span class="muted"> (required)</span> : undefined}
      </label>
      <Note path={path} schema={schema} />
      <Input {...props} />
    </div>
  );
}

interface InputProps extends FieldProps {
  readonly attributes: { readonly id: string; readonly 'aria-describedby'?: string };
}

function Input(props: FieldProps): JSX.Element {
  const { path, schema, value } = props;
  const { type, enum: values, description } = schema;
  const id = idOf(path);
  const attributes = description === undefined ? { id } : { id, 'aria-describedby': `${id}-note` };
  if (values !== undefined || type === 'boolean') return <Choice {...props} {...{ attributes }} />;
  if (type === 'integer' || type === 'number')
    return <NumberInput {...props} {...{ attributes }} />;
  return type === 'string' ? (
    <TextInput {...props} {...{ attributes }} />
  ) : (
    <AsYaml value={value} />
  );
}

function Choice({ edits, path, schema, value, isRequired, attributes }: InputProps): JSX.Element {
  const choices = schema.enum ?? [true, false];
  return (
    <select
      {...attributes}
      value={value === undefined ? '' : String(value)}
      onChange={({ currentTarget }) =>
        edits.onChange(
          path,
          choices.find((choice) => String(choice) === currentTarget.value),
        )
      }
    >
      {isRequired === true && value !== undefined ? undefined : <option value="">not set</option>}
      {choices.map((choice) => (
        <option key={String(choice)} value={String(choice)}>
          {String(choice)}
        </option>
      ))}
    </select>
  );
}

function NumberInput({ edits, path, schema, value, attributes }: InputProps): JSX.Element {
  return (
    <input
      {...attributes}
      type="number"
      step={schema.type === 'integer' ? 1 : 'any'}
      value={value === undefined ? '' : String(value)}
      onInput={({ currentTarget }) =>
        edits.onChange(path, currentTarget.value === '' ? undefined : currentTarget.valueAsNumber)
      }
    />
  );
}

function TextInput({ edits, path, value, isRequired, attributes }: InputProps): JSX.Element {
  const text = value === undefined || value === null ? '' : String(value);
  const set = (next: string): void =>
    edits.onChange(path, next === '' && isRequired !== true ? undefined : next);
  if (text.includes('\n')) {
    return (
      <textarea
        {...attributes}
        rows={Math.min(12, text.split('\n').length + 1)}
        value={text}
        onInput={({ currentTarget }) => set(currentTarget.value)}
      />
    );
  }
  return (
    <input
      {...attributes}
      value={text}
      autocomplete="off"
      spellcheck={false}
      onInput={({ currentTarget }) => set(currentTarget.value)}
    />
  );
}

function AsYaml({ value }: { value: unknown }): JSX.Element {
  return (
    <p class="muted">{value === undefined ? 'Not set.' : 'Set.'} It is edited as YAML, beside.</p>
  );
}

function SecretMark({ value }: { value: unknown }): JSX.Element {
  return (
    <p class="muted">
      {value === undefined ? 'Not set.' : 'Its value is set under Secret values.'}
    </p>
  );
}

/** Items of an enum are boxes to check; other items are rows. */
function List(props: FieldProps & { readonly items: Schema }): JSX.Element {
  const { edits, path, value, items } = props;
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  if (items.enum !== undefined) return <Boxes {...props} values={items.enum} list={list} />;
  const add = (): void =>
    edits.onChange(list.length === 0 ? path : [...path, list.length], added(items, list));
  return (
    <>
      {list.map((item, index) => (
        <Row
          key={index}
          label={`Remove ${labelOf(path.at(-1))} ${index + 1}`}
          onRemove={() => edits.onChange([...path, index], undefined)}
        >
          {items.properties === undefined ? (
            <TextItem
              {...{ edits, path: [...path, index], schema: items, value: item }}
              label={`${labelOf(path.at(-1))} ${index + 1}`}
            />
          ) : (
            <fieldset class="form-group">
              <legend class="visually-hidden">
                {labelOf(path.at(-1))} {index + 1}
              </legend>
              <Fields {...{ edits, path: [...path, index], schema: items, value: item }} />
            </fieldset>
          )}
        </Row>
      ))}
      <button type="button" class="button small" onClick={add}>
        Add to {labelOf(path.at(-1)).toLowerCase()}
      </button>
    </>
  );
}

/** A first item is a list, later ones are items. */
function added(items: Schema, list: readonly unknown[]): unknown {
  const names = items.required ?? [];
  const item =
    items.properties === undefined
      ? ''
      : Object.fromEntries(
          names.map((name) => [name, items.properties?.[name]?.type === 'array' ? [] : '']),
        );
  return list.length === 0 ? [item] : item;
}

function Row(props: {
  readonly label: string;
  readonly onRemove: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div class="form-row">
      {props.children}
      <button type="button" class="button small" aria-label={props.label} onClick={props.onRemove}>
        Remove
      </button>
    </div>
  );
}

/** An empty item stays: it is removed with its button. */
function TextItem(props: FieldProps & { readonly label: string }): JSX.Element {
  const { edits, path, schema, value, label } = props;
  const isNumber = schema.type === 'integer' || schema.type === 'number';
  return (
    <input
      aria-label={label}
      value={value === undefined || value === null ? '' : String(value)}
      autocomplete="off"
      spellcheck={false}
      onInput={({ currentTarget }) =>
        edits.onChange(path, isNumber ? Number(currentTarget.value) : currentTarget.value)
      }
    />
  );
}

function Boxes(
  props: FieldProps & { readonly values: readonly unknown[]; readonly list: readonly unknown[] },
): JSX.Element {
  const { edits, path, values, list } = props;
  const change = (value: unknown, isChecked: boolean): void => {
    if (!isChecked) edits.onChange([...path, list.indexOf(value)], undefined);
    else if (list.length === 0) edits.onChange(path, [value]);
    else edits.onChange([...path, list.length], value);
  };
  return (
    <div class="form-boxes">
      {values.map((value) => (
        <label key={String(value)}>
          <input
            type="checkbox"
            checked={list.includes(value)}
            onChange={({ currentTarget }) => change(value, currentTarget.checked)}
          />{' '}
          {String(value)}
        </label>
      ))}
    </div>
  );
}

/** Keys with values, such as labels. */
function Entries(props: FieldProps): JSX.Element {
  const { edits, path, schema, value } = props;
  const [name, setName] = useState('');
  const record = recordOf(value);
  const isHidden = isSecret(fieldSchema(schema, ''));
  const label = labelOf(path.at(-1));
  const add = (): void => {
    const key = name.trim();
    if (key === '' || Object.hasOwn(record, key)) return;
    if (isHidden) edits.onNewSecret([...path, key]);
    else edits.onChange([...path, key], '');
    setName('');
  };
  return (
    <>
      {Object.entries(record).map(([key, own]) => (
        <Row
          key={key}
          label={`Remove ${key}`}
          onRemove={() => edits.onChange([...path, key], undefined)}
        >
          <code class="form-key">{key}</code>
          {isHidden ? undefined : typeof own === 'object' && own !== null ? (
            <AsYaml value={own} />
          ) : (
            <TextItem
              {...{ edits, path: [...path, key], schema: { type: 'string' }, value: own }}
              label={`${label} ${key}`}
            />
          )}
        </Row>
      ))}
      <div class="form-row">
        <input
          aria-label={`New key of ${label.toLowerCase()}`}
          placeholder="New key"
          value={name}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            add();
          }}
        />
        <button type="button" class="button small" onClick={add} disabled={name.trim() === ''}>
          {isHidden ? 'Add with a generated value' : 'Add'}
        </button>
      </div>
    </>
  );
}
