/**
 * Parser of `spec.raw` of a Config. The text is YAML, or base64 of YAML (design section 10). Problems
 * have a line and a column inside the text.
 */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml';
import {
  type FieldError,
  type FieldPath,
  forbidden,
  formatFieldError,
  isRecord,
  type JsonObject,
  listAt,
  mapAt,
  valueAt,
} from '../../apimachinery/index.ts';
import { compileSchema } from '../schema/compiled-schema.ts';
import { type AuthConfig, authBlocks } from './auth-rules.ts';
import { configProblems, configWarnings, RESOURCES } from './config-rules.ts';

/** Base URL of chart packages; the names of the repository and the chart follow. */
const CHART_HUB = 'https://artifacthub.io/packages/helm';

export interface ParsedConfig {
  /** The configuration with its defaults. Empty if there are problems. */
  readonly status: JsonObject;
  /** Problems at `spec.raw`. They have a position inside the text, unless it is base64. */
  readonly problems: FieldError[];
  readonly warnings: string[];
}

const RAW: FieldPath = ['spec', 'raw'];
const MOST_ALIASES = 100;
/** Limit, because each problem is located in the text. More are one mistake that repeats. */
const MOST_PROBLEMS = 100;
/** Limit, because parsing blocks the event loop. */
const LONGEST_TEXT = 256 * 1024;

let latest: { readonly raw: string; readonly parsed: ParsedConfig } | undefined;

/**
 * Parses a configuration. Validation, warnings and status parse the same text in a row, so the latest
 * result is memoized and shared: never mutate it.
 */
export function parseConfigRaw(raw: string): ParsedConfig {
  if (latest?.raw !== raw) latest = { raw, parsed: parse(raw) };
  return latest.parsed;
}

/** The configuration of an empty text. It skips the checks, which would compile a schema. */
export function configDefaults(): JsonObject {
  return withDefaults({});
}

/** The YAML text of `spec.raw`, decoded if it is base64. */
export function plainConfigText(raw: string): string {
  const packed = raw.replace(/\s+/g, '');
  // A configuration is a map, and the base64 alphabet cannot write a YAML map.
  if (packed === '' || packed.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(packed))
    return raw;
  const bytes = Buffer.from(packed, 'base64');
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : raw;
}

/** Line and column of a value of a valid configuration, as text. */
export function placeInRaw(raw: string, path: FieldPath): string {
  const lineCounter = new LineCounter();
  const document = parseDocument(plainConfigText(raw), { lineCounter, uniqueKeys: false });
  const { line, col } = lineCounter.linePos(offsetOf(document, path));
  return `line ${line}, column ${col}`;
}

function parse(raw: string): ParsedConfig {
  const text = plainConfigText(raw);
  const lines = new LineCounter();
  const tooLong = text.length > LONGEST_TEXT;
  // Duplicate keys are found below: the library compares each key with every other.
  const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false };
  const document = parseDocument(tooLong ? '' : text, options);
  const place = (offset: number, message: string): FieldError =>
    inRaw(message, lines.linePos(offset), text === raw);
  const refuse = (problems: FieldError[]): ParsedConfig => ({ status: {}, problems, warnings: [] });

  if (tooLong) return refuse([place(0, `must have at most ${LONGEST_TEXT} characters`)]);
  if (document.errors.length > 0) {
    return refuse(document.errors.map((error) => place(error.pos[0], syntaxWords(error))));
  }
  const flaw = findFlaw(document);
  if (flaw !== undefined) return refuse([place(flaw.offset, flaw.message)]);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MOST_ALIASES }) ?? {};
  } catch {
    return refuse([place(0, TOO_MANY_ALIASES)]);
  }
  if (!isJsonMap(value)) return refuse([place(0, 'must be a YAML map such as "auth: {…}"')]);
  const problems = structureProblems(value);
  if (problems.length > 0) {
    return refuse(
      problems
        .slice(0, MOST_PROBLEMS)
        .map((error) =>
          place(offsetOf(document, error.path, error.unknownField), formatFieldError(error)),
        ),
    );
  }
  const warnings = configWarnings(value);
  return { status: withDefaults(value), problems: [], warnings };
}

/** Parsed YAML has no other values than those of JSON: `findFlaw` has rejected the rest. */
function isJsonMap(value: unknown): value is JsonObject {
  return isRecord(value);
}

/** `at` is left out for base64, because lines of the decoded text are not lines of the file. */
function inRaw(message: string, at: { line: number; col: number }, plain: boolean): FieldError {
  const base: Pick<FieldError, 'type' | 'path'> = { type: 'FieldValueInvalid', path: RAW };
  return plain
    ? { ...base, message, at: { line: at.line, col: at.col } }
    : { ...base, message: `${message} (line ${at.line}, column ${at.col} of the decoded text)` };
}

/** Errors whose message quotes the text, which may be a secret. */
const QUOTING = new Set([
  'BAD_DIRECTIVE',
  'BAD_DQ_ESCAPE',
  'BAD_SCALAR_START',
  'TAG_RESOLVE_FAILED',
  'UNEXPECTED_TOKEN',
]);

function syntaxWords({ code, message }: YAMLError): string {
  return QUOTING.has(code) ? message.replace(/\s*[:"'`\\].*$/s, '') : message;
}

const TOO_MANY_ALIASES = `must not repeat anchored parts more than ${MOST_ALIASES} times`;

/** Finds constructs on which the conversion to plain values would fail or hang. */
function findFlaw(document: Document): { offset: number; message: string } | undefined {
  let flaw: { offset: number; message: string } | undefined;
  let aliases = 0;
  const stop = (node: unknown, message: string): symbol => {
    flaw = { offset: (isNode(node) ? node.range?.[0] : undefined) ?? 0, message };
    return visit.BREAK;
  };
  visit(document, {
    Alias(_, alias) {
      if (++aliases > MOST_ALIASES) return stop(alias, TOO_MANY_ALIASES);
      if (alias.resolve(document) !== undefined) return undefined;
      return stop(alias, 'an alias without its anchor; quote a text that begins with "*"');
    },
    Map(_, { items }) {
      const seen = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) return stop(key, 'a map key must be a text');
        const name = String(key.value);
        if (seen.has(name)) return stop(key, 'Map keys must be unique');
        seen.add(name);
      }
      return undefined;
    },
  });
  return flaw;
}

/** Mutates `value`: null fields count as absent. */
function structureProblems(value: JsonObject): FieldError[] {
  const schema = compileSchema('config-status');
  schema.dropNulls(value);
  const shape = schema.check(value);
  if (Object.hasOwn(value, 'conditions')) {
    shape.push(forbidden(['conditions'], 'conditions are observed by the server'));
  }
  return shape.length > 0 ? shape : configProblems(value);
}

/** Fills in defaults. Mutates and returns `config`. */
function withDefaults(config: JsonObject): JsonObject {
  for (const { block } of authBlocks(mapAt<AuthConfig>(config, ['auth']), [])) {
    // An empty list of scopes means the default, like an absent one (spec section 2.8.2).
    if (Array.isArray(block['scopes']) && block['scopes'].length === 0) delete block['scopes'];
  }
  compileSchema('config-status').fillDefaults(config);
  fillDerived(config);
  return config;
}

/** Fills in absent fields whose default comes from another field (spec section 2.8). Mutates `config`. */
function fillDerived(config: JsonObject): void {
  for (const path of RESOURCES) {
    const resources = valueAt(config, path);
    if (isRecord(resources) && isRecord(resources['limits'])) {
      // Per resource, as in Kubernetes.
      const { limits, requests } = resources;
      resources['requests'] = { ...limits, ...(isRecord(requests) ? requests : {}) };
    }
  }
  for (const app of listAt<JsonObject>(config, ['apps', 'predefinedApps'])) {
    const [repository = '', chart = ''] = String(app['chart']).split('/');
    app['title'] ||= chart;
    app['readmeUrl'] ||= [CHART_HUB, repository, chart].map(encodedStep).join('/');
  }
}

function encodedStep(step: string, index: number): string {
  return index === 0 ? step : encodeURIComponent(step);
}

/**
 * Offset of the value at a path, or of its key if `atKey`. If the path ends early, offset of the
 * nearest parent.
 */
function offsetOf(document: Document, path: FieldPath, atKey = false): number {
  let node: Node | null = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const [depth, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document) ?? null;
    const found = childOf(node, step);
    if (found === undefined) return offset;
    node = found.value;
    const wantsKey =
      found.key !== undefined && (node === null || (atKey && depth === path.length - 1));
    offset = (wantsKey ? found.key?.range : node?.range)?.[0] ?? offset;
  }
  return offset;
}

function childOf(
  node: Node | null,
  step: string | number,
): { key?: Node; value: Node | null } | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(step)];
    return isNode(item) ? { value: item } : undefined;
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
  if (pair === undefined || !isNode(pair.key)) return undefined;
  return { key: pair.key, value: isNode(pair.value) ? pair.value : null };
}
