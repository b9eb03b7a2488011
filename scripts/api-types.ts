/**
 * The API as TypeScript, from its OpenAPI document: `src/client/api.ts` has an interface per schema, and
 * `Operations` with the parameters, body and answer of each operation. Types that several of them share are
 * written once.
 *
 * `npx tsx scripts/docs.ts` writes it; test/docs/generated.test.ts fails when it is out of date.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { isRecord, type JsonObject, type JsonValue } from '../src/apimachinery/index.ts';
import { buildKindTable, CLIENT_KINDS, CORE_KINDS, REVIEWS } from '../src/kinds/index.ts';
import { DEFAULT_API_GROUP } from '../src/kinds/kind.ts';
import { wholeApi } from '../src/server/documents/http-api/http-api.ts';

const ROOT = join(import.meta.dirname, '..');
const API_ROOT = '/kubernetes/management';
export const API_TYPES_FILE = 'src/client/api.ts';
const HEAD = `/**
 * The API of gitplane: an interface per schema, and the operations.
 * Generated from the OpenAPI document by \`npx tsx scripts/docs.ts\`.
 */
`;

/** The file, formatted. */
export function apiTypes(): string {
  const kinds = [
    ...buildKindTable(DEFAULT_API_GROUP).kinds,
    ...[CORE_KINDS, CLIENT_KINDS].flatMap((table) => table.kinds),
    ...REVIEWS,
  ];
  const document = wholeApi({ kinds }, { root: API_ROOT, version: '', serverSideApply: true });
  const text = new Types(document).text();
  const biome = join(ROOT, 'node_modules/.bin/biome');
  const args = ['format', `--stdin-file-path=${API_TYPES_FILE}`];
  return execFileSync(biome, args, { cwd: ROOT, input: text, encoding: 'utf8' });
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
/** The schema of Kubernetes has an object alone; JSON Patch is a list. */
const PATCH = 'readonly Readonly<Record<string, unknown>>[] | Readonly<Record<string, unknown>>';
const OPERATION = `/** No parameters. */
export type NoFields = Readonly<Record<never, never>>;

export interface Operation<Path, Query, Body, Answer> {
  readonly path: Path;
  readonly query: Query;
  readonly body: Body;
  readonly answer: Answer;
}

export interface List<Item> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ListMeta;
  readonly items: readonly Item[];
}

`;

class Types {
  readonly #paths: JsonObject;
  readonly #schemas: JsonObject;
  /** Names of interfaces, by the names of schemas. */
  readonly #names = new Map<string, string>();
  readonly #declared = new Map<string, string>();
  readonly #parametersByType = new Map<string, string>();

  constructor({ paths, components }: JsonObject) {
    this.#paths = mapOf(paths);
    this.#schemas = mapOf(mapOf(components)['schemas']);
    for (const name of Object.keys(this.#schemas)) this.#names.set(name, this.#nameFor(name));
  }

  text(): string {
    const schemas = Object.entries(this.#schemas).map(([name, schema]) =>
      this.#declare(name, mapOf(schema)),
    );
    return `${HEAD}\n${schemas.join('\n')}\n${this.#operations()}`;
  }

  /** `Team` for `dev.gitplane.management.v1.Team`; another group with the same kind is put in front. */
  #nameFor(schema: string): string {
    const parts = schema.split('.');
    const kind = parts.at(-1) ?? '';
    const taken = new Set(this.#names.values());
    const name = taken.has(kind) ? `${capital(parts.at(-3) ?? '')}${kind}` : kind;
    if (taken.has(name)) throw new Error(`Two schemas are named ${name}`);
    return name;
  }

  #declare(name: string, schema: JsonObject): string {
    const own = this.#names.get(name) ?? '';
    if (own === 'Patch') return `${comment(schema)}export type Patch = ${PATCH};\n`;
    const type = this.#sameAs(own, this.#listType(schema) ?? this.#type(schema, isModel(schema)));
    const isInterface = type.startsWith('{') && type.endsWith('}');
    const start = isInterface ? `export interface ${own} ` : `export type ${own} = `;
    return `${comment(schema)}${start}${type}${isInterface ? '' : ';'}\n`;
  }

  /** Kinds of two groups may have subresources of one shape. */
  #sameAs(name: string, type: string): string {
    const known = this.#declared.get(type);
    if (known !== undefined && name.endsWith(known)) return known;
    this.#declared.set(type, name);
    return type;
  }

  /** Undefined: the schema is not a list of a kind. */
  #listType({ properties, description }: JsonObject): string | undefined {
    const { items } = mapOf(properties);
    const isList = String(description).startsWith('A list of ');
    return isList ? `List<${this.#type(mapOf(mapOf(items)['items']))}>` : undefined;
  }

  #type(schema: JsonObject, isWhole = false): string {
    const type = this.#plainType(schema, isWhole);
    return schema['nullable'] === true ? `${type} | null` : type;
  }

  #plainType(schema: JsonObject, isWhole: boolean): string {
    const { $ref: reference, allOf, oneOf, enum: values, type, items } = schema;
    if (typeof reference === 'string') return this.#named(reference);
    if (Array.isArray(allOf)) return allOf.map((one) => this.#type(mapOf(one))).join(' & ');
    if (Array.isArray(oneOf)) return oneOf.map((one) => this.#type(mapOf(one))).join(' | ');
    if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ');
    if (schema['x-kubernetes-int-or-string'] === true) return 'number | string';
    if (type === 'array') return `readonly (${this.#type(mapOf(items))})[]`;
    if (type === 'object') return this.#objectType(schema, isWhole);
    if (type === 'integer' || type === 'number') return 'number';
    return type === undefined ? 'unknown' : String(type);
  }

  #objectType(schema: JsonObject, isWhole: boolean): string {
    const { properties, additionalProperties: more } = schema;
    if (properties === undefined) {
      const values = isRecord(more) ? this.#type(more) : 'unknown';
      return `Readonly<Record<string, ${values}>>`;
    }
    const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true || more === true;
    const open = isOpen ? 'readonly [field: string]: unknown;\n' : '';
    return `{\n${this.#fields(schema, isWhole)}${open}}`;
  }

  /** Answers have `metadata`, which a schema of Kubernetes leaves to the server. */
  #fields({ properties, required }: JsonObject, isWhole: boolean): string {
    const sure = Array.isArray(required) ? required.map(String) : [];
    const all = isWhole ? [...sure, 'metadata'] : sure;
    return Object.entries(mapOf(properties))
      .map(([name, schema]) => {
        const key = /^[\w$]+$/.test(name) ? name : JSON.stringify(name);
        const mark = all.includes(name) ? '' : '?';
        return `${comment(mapOf(schema))}readonly ${key}${mark}: ${this.#type(mapOf(schema))};\n`;
      })
      .join('');
  }

  #named(reference: string): string {
    const schema = reference.replace('#/components/schemas/', '');
    const name = this.#names.get(schema);
    if (name === undefined) throw new Error(`No schema ${schema}`);
    return name;
  }

  #operations(): string {
    const operations = Object.entries(this.#paths).flatMap(([path, item]) =>
      METHODS.filter((method) => method in mapOf(item)).map((method) =>
        this.#operation(path.replace(API_ROOT, ''), method, mapOf(mapOf(item)[method])),
      ),
    );
    const parameters = [...this.#parametersByType].map(
      ([type, name]) => `export interface ${name} ${type}\n`,
    );
    return `${OPERATION}${parameters.join('\n')}
/** Operations by method and path. Paths of the Kubernetes API are relative to its root. */
export interface Operations {\n${operations.join('')}}\n`;
  }

  #operation(path: string, method: string, operation: JsonObject): string {
    const { requestBody } = operation;
    const body = requestBody === undefined ? 'undefined' : this.#body(mapOf(requestBody));
    const parts = [
      this.#parameters(operation, 'path', path),
      this.#parameters(operation, 'query', path),
      body,
      this.#answer(operation),
    ];
    const key = `'${method.toUpperCase()} ${path}'`;
    return `${comment(operation)}${key}: Operation<${parts.join(', ')}>;\n`;
  }

  #body(requestBody: JsonObject): string {
    const type = this.#content(requestBody);
    return requestBody['required'] === true ? type : `${type} | undefined`;
  }

  #parameters(operation: JsonObject, where: string, path: string): string {
    const { parameters } = operation;
    const found = (Array.isArray(parameters) ? parameters : [])
      .map(mapOf)
      .filter((parameter) => parameter['in'] === where);
    if (found.length === 0) return 'NoFields';
    const fields = found
      .toSorted((a, b) => (String(a['name']) < String(b['name']) ? -1 : 1))
      .map((parameter) => {
        const mark = parameter['required'] === true ? '' : '?';
        const type = this.#type(mapOf(parameter['schema']));
        const or = mark === '' ? '' : ' | undefined';
        // The kind in the description would make a type per kind.
        const about = where === 'path' ? '' : comment(parameter);
        return `${about}readonly ${String(parameter['name'])}${mark}: ${type}${or};\n`;
      });
    const names = found.map((parameter) => capital(String(parameter['name'])));
    const isPath = where === 'path';
    const name = isPath ? `${names.toSorted().join('')}Path` : `${queryName(operation, path)}Query`;
    return this.#shared(name, `{\n${fields.join('')}}`);
  }

  /** Name of a type that several operations may have. */
  #shared(wanted: string, type: string): string {
    const known = this.#parametersByType.get(type);
    if (known !== undefined) return known;
    if ([...this.#parametersByType.values()].includes(wanted))
      throw new Error(`Two sets of parameters are named ${wanted}`);
    this.#parametersByType.set(type, wanted);
    return wanted;
  }

  /** Of every status code of success. */
  #answer({ responses }: JsonObject): string {
    const types = Object.entries(mapOf(responses))
      .filter(([code]) => code.startsWith('2'))
      .map(([, response]) => this.#content(mapOf(response)));
    return [...new Set(types)].join(' | ');
  }

  #content({ content }: JsonObject): string {
    const [first] = Object.values(mapOf(content));
    return this.#type(mapOf(mapOf(first)['schema']));
  }
}

/** `List`, `History` of `…/{name}/history`, `Search` of `/search`. */
function queryName({ operationId, ...operation }: JsonObject, path: string): string {
  const action = operation['x-kubernetes-action'];
  const below = /\{name\}\/([\w:]+)$/.exec(path)?.[1];
  if (action === undefined) return capital(String(operationId));
  if (below === undefined) return capital(String(action));
  return `${action === 'get' ? '' : capital(String(action))}${capital(below.replace(/:\w+$/, ''))}`;
}

/** True for kinds of objects. */
function isModel({ properties }: JsonObject): boolean {
  const { allOf } = mapOf(mapOf(properties)['metadata']);
  return JSON.stringify(allOf ?? '').includes('.ObjectMeta"');
}

function mapOf(value: JsonValue | undefined): JsonObject {
  return isRecord(value) ? value : {};
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function comment({ description }: JsonObject): string {
  const text = String(description ?? '').replaceAll('*/', '*\\/');
  return text === '' ? '' : `/** ${text} */\n`;
}
