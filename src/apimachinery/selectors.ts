/** Label and field selectors (reference: Kubernetes API, section 2.6). Errors are 400. */
import type { ObjectKey } from './key.ts';
import { labelValueProblems, qualifiedNameProblems } from './names.ts';
import type { KubeObject } from './object.ts';
import { badRequest } from './status-error.ts';

type Labels = Readonly<Record<string, string>>;

interface Requirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | '!exists' | '>' | '<';
  readonly values: readonly string[];
}

export interface LabelSelector {
  readonly empty: boolean;
  matches(labels: Labels | undefined): boolean;
}

const TOKEN = /\s*(?:(==|!=|=|!|>|<|\(|\)|,)|([^\s=!><(),]+))/y;

function tokens(text: string): string[] {
  const found: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const match = TOKEN.exec(text);
    if (match === null) break;
    found.push(match[1] ?? match[2] ?? '');
  }
  return found;
}

class SelectorParser {
  readonly #tokens: string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokens(text);
  }

  parse(): Requirement[] {
    const requirements: Requirement[] = [];
    if (this.#peek() === undefined) return requirements;
    requirements.push(this.#requirement());
    while (this.#peek() !== undefined) {
      if (this.#next() !== ',')
        this.#fail(`found '${this.#tokens[this.#at - 1]}', expected: ',' or 'end of string'`);
      requirements.push(this.#requirement());
    }
    return requirements;
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #next(): string {
    return this.#tokens[this.#at++] ?? '';
  }

  #fail(why: string): never {
    throw badRequest(`unable to parse requirement: ${why}`);
  }

  #requirement(): Requirement {
    if (this.#peek() === '!') {
      this.#next();
      return { key: this.#key(), operator: '!exists', values: [] };
    }
    const key = this.#key();
    const operator = this.#peek();
    if (operator === undefined || operator === ',') return { key, operator: 'exists', values: [] };
    this.#next();
    if (operator === 'in' || operator === 'notin') {
      return { key, operator, values: this.#set() };
    }
    if (operator === '=' || operator === '==')
      return { key, operator: 'in', values: [this.#value()] };
    if (operator === '!=') return { key, operator: 'notin', values: [this.#value()] };
    if (operator === '>' || operator === '<') {
      const value = this.#value();
      if (!/^-?\d+$/.test(value))
        this.#fail(`for 'Gt', 'Lt' operators, the value must be an integer`);
      return { key, operator, values: [value] };
    }
    return this.#fail(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
  }

  #key(): string {
    const key = this.#next();
    const problems = qualifiedNameProblems(key);
    if (problems.length > 0) {
      this.#fail(`key: Invalid value: ${JSON.stringify(key)}: ${problems.join('; ')}`);
    }
    return key;
  }

  #value(): string {
    const next = this.#peek();
    if (next === undefined || next === ',' || next === ')') return '';
    const value = this.#next();
    const problems = labelValueProblems(value);
    if (problems.length > 0) {
      this.#fail(`values[0][key]: Invalid value: ${JSON.stringify(value)}: ${problems.join('; ')}`);
    }
    return value;
  }

  #set(): string[] {
    if (this.#next() !== '(')
      this.#fail(`found '${this.#tokens[this.#at - 1] ?? ''}', expected: '('`);
    const values = [this.#value()];
    while (this.#peek() === ',') {
      this.#next();
      values.push(this.#value());
    }
    if (this.#next() !== ')')
      this.#fail(`found '${this.#tokens[this.#at - 1] ?? ''}', expected: ',' or ')'`);
    return values;
  }
}

function satisfies(requirement: Requirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case 'exists':
      return value !== undefined;
    case '!exists':
      return value === undefined;
    case 'in':
      return value !== undefined && requirement.values.includes(value);
    case 'notin':
      return value === undefined || !requirement.values.includes(value);
    case '>':
    case '<': {
      if (value === undefined || !/^-?\d+$/.test(value)) return false;
      const [left, right] = [BigInt(value), BigInt(requirement.values[0] ?? '0')];
      return requirement.operator === '>' ? left > right : left < right;
    }
  }
}

const EVERY_LABEL: LabelSelector = { empty: true, matches: () => true };

export function parseLabelSelector(text: string): LabelSelector {
  if (text === '') return EVERY_LABEL;
  const requirements = new SelectorParser(text).parse();
  // Consecutive objects often share one labels instance, so the last result is reused.
  let last: { labels: Labels | undefined; matches: boolean } | undefined;
  return {
    empty: requirements.length === 0,
    matches: (labels) => {
      if (last === undefined || last.labels !== labels || labels === undefined) {
        const matches = requirements.every((requirement) => satisfies(requirement, labels ?? {}));
        last = { labels, matches };
      }
      return last.matches;
    },
  };
}

export interface FieldSelector {
  readonly empty: boolean;
  /** The name that must match exactly, if the selector says so; requests are authorized with it. */
  readonly name: string | undefined;
  /** False: an object with this key cannot match. */
  fitsKey(key: Pick<ObjectKey, 'namespace' | 'name'>): boolean;
  /** True: the selector has only fields of the key. */
  readonly isOfKey: boolean;
  matches(object: KubeObject): boolean;
}

const EVERY_FIELD: FieldSelector = {
  empty: true,
  name: undefined,
  fitsKey: () => true,
  isOfKey: true,
  matches: () => true,
};

interface FieldTerm {
  readonly field: string;
  readonly value: string;
  readonly negated: boolean;
}

function unescapeValue(text: string, term: string): string {
  let out = '';
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== '\\') {
      out += text[i];
      continue;
    }
    const next = text[++i];
    if (next !== '\\' && next !== ',' && next !== '=') {
      throw badRequest(`invalid field selector: ${JSON.stringify(term)}: invalid escape sequence`);
    }
    out += next;
  }
  return out;
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let current = '';
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') current += text[i++] + (text[i] ?? '');
    else if (text[i] === ',') {
      terms.push(current);
      current = '';
    } else current += text[i];
  }
  return [...terms, current].filter((term) => term !== '');
}

function parseTerm(term: string): FieldTerm {
  const match = /^([^=!]+)(!=|==|=)(.*)$/s.exec(term);
  if (match === null) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
  const [, field = '', operator, value = ''] = match;
  return { field, value: unescapeValue(value, term), negated: operator === '!=' };
}

/** `selectable`: every field path that may be named, such as `metadata.name`. */
export function parseFieldSelector(
  text: string,
  selectable: readonly string[],
  textOf: (object: KubeObject, field: string) => string | undefined = () => undefined,
): FieldSelector {
  if (text === '') return EVERY_FIELD;
  const terms = splitTerms(text).map(parseTerm);
  for (const { field } of terms) {
    if (!selectable.includes(field)) throw badRequest(`field label not supported: ${field}`);
  }
  const fits = ({ value, negated }: FieldTerm, found: string): boolean =>
    (found === value) !== negated;
  const ofKey = terms.flatMap((term) => {
    const part = KEY_FIELDS.get(term.field);
    return part === undefined ? [] : [{ part, term }];
  });
  return {
    empty: terms.length === 0,
    fitsKey: (key) => ofKey.every(({ part, term }) => fits(term, key[part])),
    isOfKey: ofKey.length === terms.length,
    name: terms.find(({ field, negated }) => field === 'metadata.name' && !negated)?.value,
    matches: (object) =>
      terms.every((term) => {
        const { field } = term;
        return fits(term, textOf(object, field) ?? fieldText(object, field));
      }),
  };
}

const KEY_FIELDS: ReadonlyMap<string, 'namespace' | 'name'> = new Map([
  ['metadata.namespace', 'namespace'],
  ['metadata.name', 'name'],
]);

function fieldText(object: KubeObject, field: string): string {
  let value: unknown = object;
  for (const step of field.split('.')) {
    value =
      typeof value === 'object' && value !== null
        ? (value as Record<string, unknown>)[step]
        : undefined;
  }
  return value === undefined || value === null ? '' : String(value);
}
