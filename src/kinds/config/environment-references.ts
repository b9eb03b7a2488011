/**
 * Texts of the configuration that stand for a variable of the environment: `$NAME` or `${NAME}`.
 * `$$` stands for one `$`, so that a secret may begin with it. Anything else is what it says.
 */
import { schemaPlaces, schemaTree } from '../schema/schema-files.ts';

const REFERENCE = /^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})$/;

/** The variable that a text names, if it names one. */
export function namedVariable(text: string): string | undefined {
  const match = REFERENCE.exec(text);
  return match?.[1] ?? match?.[2];
}

/** What a text that names no variable says. */
export function literalText(text: string): string {
  return text.startsWith('$$') ? text.slice(1) : text;
}

/** Variables that hold secrets of the daemon itself: the configuration is not to pass them on. */
export function isOwnVariable(name: string): boolean {
  return name.startsWith('GITPLANE_');
}

const PLACES = [...schemaPlaces(schemaTree('config-status'))];

/** Where the configuration may name a variable; `*` stands for any step. */
const REFERENCE_PLACES: readonly (readonly string[])[] = PLACES.filter(
  ({ node }) => node['x-gitplane-secret'] === true || node['x-gitplane-env'] === true,
).map(({ path }) => path);

const SECRET_PATHS: readonly (readonly string[])[] = PLACES.filter(
  ({ node }) => node['x-gitplane-secret'] === true,
).map(({ path }) => path);

/** Where the configuration holds secrets; `*` stands for any step. */
export function secretConfigPaths(): readonly (readonly string[])[] {
  return SECRET_PATHS;
}

/** Every text of a configuration that may name a variable, with its path. */
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
  } else if (Object.hasOwn(value, step)) {
    yield* textsAt((value as Record<string, unknown>)[step], rest, [...path, step]);
  }
}
