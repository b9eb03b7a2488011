/** Objects for tests, and what the kinds say about them. */
import { formatFieldError } from '../../src/apimachinery/field-error.ts';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import { apiVersionOf, type Kind } from '../../src/kinds/kind.ts';
import { buildKindTable } from '../../src/kinds/table.ts';

export const GROUP = 'management.gitplane.dev';
export const table = buildKindTable(GROUP);

export function kindNamed(name: string): Kind {
  const found = table.kinds.find((kind) => kind.kind === name);
  if (found === undefined) throw new Error(`no kind ${name}`);
  return found;
}

/** An object with `fields` beside its envelope; `metadata` is merged into a name. */
export function object(kindName: string, fields: JsonObject = {}): KubeObject {
  const kind = kindNamed(kindName);
  const { metadata, ...rest } = fields;
  return {
    apiVersion: apiVersionOf(kind),
    kind: kindName,
    metadata: { name: 'x', ...(metadata as JsonObject | undefined) },
    ...rest,
  } as KubeObject;
}

/** Problems of shape, or where there are none those of the rules, as people read them. */
export function problems(subject: KubeObject, old?: KubeObject): string[] {
  const kind = kindNamed(subject.kind);
  const shape = table.schemaOf(kind).check(subject);
  return (shape.length > 0 ? shape : kind.validate(subject, old)).map(formatFieldError);
}
