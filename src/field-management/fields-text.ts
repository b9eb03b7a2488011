/**
 * FieldsV1 as JSON for an object with a single manager. It runs for each read of such an object, so it
 * writes the text directly, without a `FieldSet`.
 */

import {
  isRecord,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  memoize,
} from '../apimachinery/index.ts';
import { fieldElement } from './field-set.ts';
import {
  fieldShape,
  isAtomic,
  itemElements,
  itemShape,
  type Shape,
  UNMANAGED_META,
} from './shape.ts';

const UNMANAGED = new Set(UNMANAGED_META);

/**
 * Fields of `object` without its status. `blank` has the fields that every object has; they have no
 * owner. Empty if no field is left.
 */
export function fieldsText(shape: Shape, object: JsonObject, blank: JsonObject): string {
  const parts: Part[] = [];
  for (const [name, value] of Object.entries(object)) {
    if (name === 'apiVersion' || name === 'kind' || jsonEqual(value, blank[name])) continue;
    const child = fieldShape(shape, name);
    if (name !== 'metadata') parts.push([fieldElement(name), below(child, value)]);
    else {
      const inner = inMetadata(child, value);
      if (inner !== '') parts.push([fieldElement(name), `{${inner}}`]);
    }
  }
  return parts.length === 0 ? '' : `{${joined(parts)}}`;
}

type Part = readonly [element: string, text: string];

function inMetadata(shape: Shape, metadata: JsonValue): string {
  const parts: Part[] = [];
  for (const [name, value] of Object.entries(isRecord(metadata) ? metadata : {})) {
    if (UNMANAGED.has(name)) continue;
    parts.push([fieldElement(name), below(fieldShape(shape, name), value)]);
  }
  return joined(parts);
}

function below(shape: Shape, value: JsonValue): string {
  if (value === null || isAtomic(shape, value)) return '{}';
  const parts: Part[] = [];
  if (Array.isArray(value)) {
    const child = itemShape(shape);
    // Of an item that is there twice the last one counts.
    const texts = new Map<string, string>();
    for (const [at, element] of itemElements(shape, value).entries()) {
      texts.set(element, below(child, value[at] ?? null));
    }
    for (const one of texts) parts.push(one);
  } else {
    for (const [name, item] of Object.entries(value)) {
      parts.push([fieldElement(name), below(fieldShape(shape, name), item)]);
    }
  }
  return parts.length === 0 ? '{}' : `{".":{},${joined(parts)}}`;
}

function joined(parts: Part[]): string {
  if (parts.length > 1) parts.sort(([a], [b]) => (a < b ? -1 : 1));
  let text = '';
  for (const [element, inner] of parts) {
    text += text === '' ? asKey(element) : `,${asKey(element)}`;
    text += inner;
  }
  return text;
}

const MOST_KEYS = 4096;
const asKey = memoize(MOST_KEYS, (element) => `${JSON.stringify(element)}:`);
