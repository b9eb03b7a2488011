/**
 * Replaces references by the values of environment variables. A reference to a missing variable
 * removes its whole block: half a block could grant more than intended, such as a client without
 * its secret.
 */
import type { FieldPath, JsonObject, JsonValue } from '../apimachinery/index.ts';
import { literalText, namedVariable, referenceTexts } from '../kinds/index.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface MissingVariable {
  readonly path: FieldPath;
  readonly variable: string;
}

export interface Resolved {
  /** A copy, without the blocks of `missing`. */
  readonly config: JsonObject;
  readonly missing: readonly MissingVariable[];
}

export function resolveReferences(config: JsonObject, environment: Environment): Resolved {
  const missing: MissingVariable[] = [];
  const values = new Map<string, string>();
  for (const { path, text } of referenceTexts(config)) {
    const variable = namedVariable(text);
    const value = variable === undefined ? literalText(text) : environment[variable];
    // A variable that is set to nothing is a mistake as well.
    if (value) values.set(keyOf(path), value);
    else if (variable !== undefined) missing.push({ path, variable });
  }
  const left = new Set(missing.map(({ path }) => keyOf(blockOf(path))));
  return { config: copyOf(config, { values, left }, []) as JsonObject, missing };
}

/**
 * Blocks that are removed as a whole; the longest match counts. A field in none of them is a block
 * of its own.
 */
const BLOCKS: readonly (readonly string[])[] = [
  ['auth', 'connectors', '*'],
  ['auth', '*'],
  ['oidc', 'clients', '*'],
  ['apps', 'repositories', '*'],
  ['secretStore'],
  ['secretStores', '*'],
  ['notifications', '*'],
  ['database'],
];

function blockOf(path: FieldPath): FieldPath {
  const block = BLOCKS.find((steps) =>
    steps.every((step, index) => step === '*' || step === path[index]),
  );
  return block === undefined ? path : path.slice(0, block.length);
}

function copyOf(
  value: JsonValue,
  changes: { readonly values: ReadonlyMap<string, string>; readonly left: ReadonlySet<string> },
  path: FieldPath,
): JsonValue {
  if (typeof value !== 'object' || value === null) return changes.values.get(keyOf(path)) ?? value;
  const stays = (step: string | number): boolean => !changes.left.has(keyOf([...path, step]));
  if (Array.isArray(value)) {
    return value.flatMap((item, index) =>
      stays(index) ? [copyOf(item, changes, [...path, index])] : [],
    );
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => stays(key))
      .map(([key, item]) => [key, copyOf(item, changes, [...path, key])]),
  );
}

function keyOf(path: FieldPath): string {
  return JSON.stringify(path);
}
