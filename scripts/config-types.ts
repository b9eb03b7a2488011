/**
 * The configuration as TypeScript, from its schemas: src/config/platform-config.ts, and a file for
 * each schema that it refers to, named as the schema is.
 *
 * `npx tsx scripts/docs.ts` writes them; test/docs/generated.test.ts fails when one is out of date.
 */
import { dirname, relative } from 'node:path';
import { type SchemaNode, schemaDocument } from '../src/kinds/schema/schema-files.ts';

const ROOT_SCHEMA = 'config-status';
const ROOT_FILE = 'src/config/platform-config.ts';
/** Holds nothing but what is generated. */
export const SECTIONS_FOLDER = 'src/config/sections';

/** Every file, formatted, by its path. */
export function configTypes(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  declare(ROOT_SCHEMA, files);
  return files;
}

function declare(schema: string, files: Map<string, string>): void {
  const file = fileOf(schema);
  if (files.has(file)) return;
  const types = new Types(schema);
  files.set(file, types.text());
  for (const other of types.references) declare(other, files);
}

function fileOf(schema: string): string {
  return schema === ROOT_SCHEMA ? ROOT_FILE : `${SECTIONS_FOLDER}/${schema}.ts`;
}

function nameOf(schema: string): string {
  if (schema === ROOT_SCHEMA) return 'PlatformConfig';
  return `${String(schemaDocument(schema)['title'])}Config`;
}

/** The types that one schema file spells out. */
class Types {
  readonly #schema: string;
  readonly #root: SchemaNode;
  readonly #definitions: Readonly<Record<string, SchemaNode>>;
  /** Of definitions, by name. */
  readonly #local = new Map<string, string>();
  /** Schemas of other files. */
  readonly references = new Set<string>();

  constructor(schema: string) {
    this.#schema = schema;
    this.#root = schemaDocument(schema) as unknown as SchemaNode;
    this.#definitions = (this.#root['definitions'] ?? {}) as Record<string, SchemaNode>;
  }

  text(): string {
    const text = comment(this.#root.description ?? '', 0);
    const own = `${text}export interface ${nameOf(this.#schema)} {\n${this.#fields(this.#root, 1)}}\n`;
    return `${this.#head()}${[own, ...[...this.#local.values()].reverse()].join('\n')}`;
  }

  /** To be called when the references are known. */
  #head(): string {
    const from = dirname(fileOf(this.#schema));
    const imports = [...this.references].sort().map((schema) => {
      const path = relative(from, fileOf(schema));
      const specifier = path.startsWith('.') ? path : `./${path}`;
      return `import type { ${nameOf(schema)} } from '${specifier}';\n`;
    });
    const what =
      this.#schema === ROOT_SCHEMA
        ? 'The configuration of the platform as it is in force (spec section 2.8), with defaults.'
        : 'A part of the configuration, with defaults.';
    const made = `Generated from schemas/${this.#schema}.json by \`npx tsx scripts/docs.ts\`.`;
    const gap = imports.length > 0 ? '\n' : '';
    return `/**\n * ${what}\n * ${made}\n */\n${imports.join('')}${gap}`;
  }

  /** What only the server fills in is no part of the configuration. */
  #fields(node: SchemaNode, depth: number): string {
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
      return `{\n${this.#fields(node, depth + 1)}${'  '.repeat(depth)}}`;
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
      this.references.add(schema);
      return nameOf(schema);
    }
    const prefix = nameOf(this.#schema).replace(/Config$/, '');
    const name = `${prefix}${local[0]?.toUpperCase()}${local.slice(1)}`;
    const definition = this.#definitions[local] ?? {};
    if (!this.#local.has(name)) {
      const text = comment(definition.description ?? '', 0);
      this.#local.set(name, `${text}export interface ${name} {\n${this.#fields(definition, 1)}}\n`);
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
