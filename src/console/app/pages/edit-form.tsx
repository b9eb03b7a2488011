/** The form of an object: it edits the same text as the editor of YAML. */
import type { JSX } from 'preact';
import { Notice } from '../components/parts.tsx';
import { Fields, type FormEdits } from '../components/schema-form.tsx';
import type { Schema } from '../schema.ts';

export function ObjectForm(props: {
  /** Undefined: the text cannot be read. */
  readonly object: Readonly<Record<string, unknown>> | undefined;
  readonly schema: Schema | undefined;
  readonly isNew: boolean;
  readonly isNamespaced: boolean;
  readonly edits: FormEdits;
}): JSX.Element {
  const { object, schema, isNew, isNamespaced, edits } = props;
  if (object === undefined || schema?.properties === undefined) {
    return (
      <Notice tone="info">
        <p>
          {object === undefined
            ? 'The YAML cannot be read; mend it first.'
            : 'This kind has no schema, and so no form.'}
        </p>
      </Notice>
    );
  }
  const {
    metadata,
    apiVersion: _version,
    kind: _kind,
    status: _status,
    ...rest
  } = schema.properties;
  const identity = isNew ? ['name', ...(isNamespaced ? ['namespace'] : [])] : [];
  const { spec, ...others } = rest;
  return (
    <div class="form">
      {metadata === undefined ? undefined : (
        <Fields
          {...{ edits, path: ['metadata'], schema: metadata, value: object['metadata'] }}
          only={identity}
        />
      )}
      {spec === undefined ? undefined : (
        <Fields {...{ edits, path: ['spec'], schema: spec, value: object['spec'] }} />
      )}
      <Fields {...{ edits, path: [], schema: { ...schema, properties: others }, value: object }} />
      {metadata === undefined ? undefined : (
        <Fields
          {...{ edits, path: ['metadata'], schema: metadata, value: object['metadata'] }}
          only={['labels', 'annotations']}
        />
      )}
    </div>
  );
}
