/**
 * References to environment variables in the configuration: `$NAME` or `${NAME}`. `$$` stands for
 * one `$`, so that a secret may begin with it. Any other text is literal.
 */
import { valueAt } from '../../apimachinery/index.ts';
import { schemaPlaces, schemaTree } from '../schema/schema-files.ts';

const REFERENCE = /^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})$/;

/** Name of the variable that a text refers to. Undefined: the text is literal. */
export function namedVariable(text: string): string | undefined {
  const match = REFERENCE.exec(text);
  return match?.[1] ?? match?.[2];
}

/** The value of a literal text. */
export function literalText(text: string): string {
  return text.startsWith('$$') ? text.slice(1) : text;
}

const PLACES = [...schemaPlaces(schemaTree('config-status'))];

/** Paths of fields that may refer to a variable. `*` matches any step. */
const REFERENCE_PLACES: readonly (readonly string[])[] = PLACES.filter(
  ({ node }) => node['x-gitplane-secret'] === true || node['x-gitplane-env'] === true,
).map(({ path }) => path);

/** Paths of secrets in the configuration. `*` matches any step. */
export const SECRET_CONFIG_PATHS: readonly (readonly string[])[] = PLACES.filter(
  ({ node }) => node['x-gitplane-secret'] === true,
).map(({ path }) => path);

/** Every text in a field that may refer to a variable, with its path. */
export function* referenceTexts(
  config: unknown,
): IterableIterator<{ readonly path: (string | number)[]; readonly text: string }> {
  for (const place of REFERENCE_PLACES) yield* textsAt(config, place, []);
}

function* textsAt(
  value: unknown,
  [step, ...rest]: readonly string[],
  path: (string | number)[],
): IterableIterator<{ readonly path: (string | number)[]; readonly text: string }> {
  if (step === undefined) {
    if (typeof value === 'string') yield { path, text: value };
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (step === '*') {
    const isList = Array.isArray(value);
    for (const [key, item] of Object.entries(value)) {
      yield* textsAt(item, rest, [...path, isList ? Number(key) : key]);
    }
  } else {
    yield* textsAt(valueAt(value, [step]), rest, [...path, step]);
  }
}
