/** The fields of a schema as a table: name, type, what it is. */
import { type SchemaNode, schemaTree } from '../src/kinds/schema/schema-files.ts';
import { table } from './markdown-table.ts';

/** Fields of a schema; `metadata` has a page of its own. */
export function fieldTable(schema: string): string {
  const rows = new FieldRows();
  rows.add(schemaTree(schema), '');
  return table(['Field', 'Type', 'What it is'], rows.rows);
}

/** Objects with fewer fields are shown wherever they occur, others once. */
const FEWEST_FOLDED = 3;

class FieldRows {
  readonly rows: string[][] = [];
  /** Where an object with these fields was shown. */
  readonly #shown = new Map<string, string>();

  add(node: SchemaNode, prefix: string): void {
    for (const [name, field] of Object.entries(node.properties ?? {})) {
      const path = prefix === '' ? name : `${prefix}.${name}`;
      if (['apiVersion', 'kind', 'metadata'].includes(path)) continue;
      const required = node.required?.includes(name) === true && prefix !== '';
      const inner = innermost(field, path);
      const earlier = this.#earlier(inner);
      const fold = earlier === undefined ? [] : [`The same fields as \`${earlier}\`.`];
      const text = [describe(field, required), ...fold].join(' ');
      this.rows.push([`\`${path}\``, typeOf(field), text]);
      if (earlier === undefined) this.add(inner.node, inner.path);
    }
  }

  #earlier({ node, path }: Inner): string | undefined {
    const fields = Object.keys(node.properties ?? {});
    if (fields.length < FEWEST_FOLDED) return undefined;
    const id = JSON.stringify(node.properties);
    const earlier = this.#shown.get(id);
    if (earlier === undefined) this.#shown.set(id, path);
    return earlier;
  }
}

interface Inner {
  readonly node: SchemaNode;
  readonly path: string;
}

/** The fields below a field: its own, or those of the items of a list or of the values of a map. */
function innermost(node: SchemaNode, path: string): Inner {
  if (node.items !== undefined) return innermost(node.items, `${path}[]`);
  if (typeof node.additionalProperties === 'object' && node.properties === undefined) {
    return innermost(node.additionalProperties, `${path}.*`);
  }
  return { node, path };
}

function typeOf(node: SchemaNode): string {
  if (node.enum !== undefined) {
    const values = node.enum.filter((value) => value !== '');
    return values.map((value) => `\`${String(value)}\``).join(', ');
  }
  if (node.items !== undefined) return `list of ${typeOf(node.items)}`;
  if (typeof node.additionalProperties === 'object') {
    return `map to ${typeOf(node.additionalProperties)}`;
  }
  if (typeof node.type === 'string') return node['format'] === 'date-time' ? 'time' : node.type;
  return Array.isArray(node.type)
    ? node.type.filter((type) => type !== 'null').join(' or ')
    : 'any';
}

function describe(node: SchemaNode, required: boolean): string {
  const isSecret = [node, node.additionalProperties, node.items].some(
    (part) => typeof part === 'object' && (part as SchemaNode)['x-gitplane-secret'] === true,
  );
  return [
    ...(required ? ['Required.'] : []),
    ...(node.deprecated === true ? ['**Deprecated.**'] : []),
    node.description ?? '',
    ...defaultOf(node),
    ...(isSecret ? ['Secret: never in logs and errors.'] : []),
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function defaultOf({ default: value }: SchemaNode): string[] {
  if (value === undefined || (typeof value === 'object' && value !== null)) return [];
  return [`Default: \`${JSON.stringify(value)}\`.`];
}
