/**
 * The configuration as TypeScript, from its schemas: src/config/platform-config.ts.
 *
 * `npx tsx scripts/docs.ts` writes it; test/docs/generated.test.ts fails when it is out of date.
 */
import { type SchemaNode, schemaDocument } from '../src/kinds/schema-files.ts';

export const CONFIG_TYPES_FILE = 'src/config/platform-config.ts';

const HEAD = `/**
 * The configuration of the platform as it is in force (spec section 2.8), with defaults.
 * Generated from schemas/config-status.json by \`npx tsx scripts/docs.ts\`.
 */
`;

/** The whole file, formatted. */
export function configTypes(): string {
  const interfaces = new Map<string, string>();
  declare('config-status', 'PlatformConfig', interfaces);
  return `${HEAD}${[...interfaces.values()].reverse().join('\n')}`;
}

function declare(schema: string, name: string, into: Map<string, string>): void {
  const root = schemaDocument(schema) as unknown as SchemaNode;
  const types = new Types(root, name, into);
  const body = types.fields(root, 1);
  into.set(name, `${comment(root.description ?? '', 0)}export interface ${name} {\n${body}}\n`);
}

/** The types that one schema file spells out. */
class Types {
  readonly #definitions: Readonly<Record<string, SchemaNode>>;
  readonly #name: string;
  readonly #into: Map<string, string>;

  constructor(root: SchemaNode, name: string, into: Map<string, string>) {
    this.#definitions = (root['definitions'] ?? {}) as Record<string, SchemaNode>;
    this.#name = name;
    this.#into = into;
  }

  /** What only the server fills in is no part of the configuration. */
  fields(node: SchemaNode, depth: number): string {
    return Object.entries(node.properties ?? {})
      .filter(([, field]) => field.readOnly !== true)
      .map(([name, field]) => {
        const target = this.#target(field);
        const isSure =
          node.required?.includes(name) === true ||
          field.default !== undefined ||
          target.default !== undefined;
        const pad = '  '.repeat(depth);
        const text = comment(field.description ?? target.description ?? '', depth);
        const start = `${pad}readonly ${name}${isSure ? '' : '?'}:`;
        return `${text}${wrapped(start, this.#type(field, depth), pad)}\n`;
      })
      .join('');
  }

  #target(node: SchemaNode): SchemaNode {
    const ref = String(node['$ref'] ?? '');
    if (ref === '') return node;
    const local = /^#\/definitions\/(\w+)$/.exec(ref)?.[1];
    if (local !== undefined) return this.#definitions[local] ?? node;
    return schemaDocument(ref.replace(/\.json$/, '')) as unknown as SchemaNode;
  }

  #type(node: SchemaNode, depth: number): string {
    const ref = String(node['$ref'] ?? '');
    if (ref !== '') return this.#named(ref);
    if (node.enum !== undefined) return node.enum.map((value) => `'${String(value)}'`).join(' | ');
    if (node.items !== undefined) return listOf(this.#type(node.items, depth));
    if (node.properties !== undefined) {
      return `{\n${this.fields(node, depth + 1)}${'  '.repeat(depth)}}`;
    }
    if (typeof node.additionalProperties === 'object') {
      return `Readonly<Record<string, ${this.#type(node.additionalProperties, depth)}>>`;
    }
    const names = [node.type ?? []].flat().map((type) => (type === 'integer' ? 'number' : type));
    return names.join(' | ');
  }

  #named(ref: string): string {
    const local = /^#\/definitions\/(\w+)$/.exec(ref)?.[1];
    if (local === undefined) {
      const schema = ref.replace(/\.json$/, '');
      const name = `${String(schemaDocument(schema)['title'])}Config`;
      if (!this.#into.has(name)) declare(schema, name, this.#into);
      return name;
    }
    const name = `${this.#name.replace(/Config$/, '')}${local[0]?.toUpperCase()}${local.slice(1)}`;
    const definition = this.#definitions[local] ?? {};
    if (!this.#into.has(name)) {
      const text = comment(definition.description ?? '', 0);
      this.#into.set(name, `${text}export interface ${name} {\n${this.fields(definition, 1)}}\n`);
    }
    return name;
  }
}

function listOf(type: string): string {
  return /^(\w+|\{.*\})$/s.test(type) ? `readonly ${type}[]` : `readonly (${type})[]`;
}

const WIDTH = 100;

/** As the formatter wraps long unions. */
function wrapped(start: string, type: string, pad: string): string {
  const line = `${start} ${type};`;
  if (type.includes('\n') || line.length <= WIDTH) return line;
  const union = (text: string): string =>
    text
      .split(' | ')
      .map((name) => `\n${pad}  | ${name}`)
      .join('');
  const names = /^readonly \((.*)\)\[\]$/.exec(type)?.[1];
  return names === undefined
    ? `${start}${union(type)};`
    : `${start} readonly (${union(names)}\n${pad})[];`;
}

function comment(text: string, depth: number): string {
  const safe = text.replaceAll('*/', '*\\/');
  return safe === '' ? '' : `${'  '.repeat(depth)}/** ${safe} */\n`;
}
