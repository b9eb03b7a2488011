/**
 * Enough of PromQL to hold rules and dashboards to the metrics that there are: whether an expression
 * parses, and which metrics and labels it names. Not a judge of types; promtool is, where there is one.
 */

export interface Selector {
  readonly metric: string;
  readonly labels: readonly string[];
}

const TOKEN =
  /\s*(?:("(?:[^"\\]|\\.)*")|(\d+(?:ms|[smhdwy])|\$__\w+)|(\d+(?:\.\d+)?(?:e-?\d+)?)|([a-zA-Z_:][\w:]*)|(==|!=|>=|<=|=~|!~|[-+*/%^=<>(){}[\],]))/y;

const AGGREGATIONS = new Set(['sum', 'min', 'max', 'avg', 'count', 'topk', 'quantile']);
const FUNCTIONS = new Set(
  ['rate', 'increase', 'histogram_quantile', 'absent', 'time', 'changes', 'clamp_max'].concat([
    'max_over_time',
    'label_values',
  ]),
);
const BINARY = new Set('== != >= <= > < + - * / % ^ and or unless'.split(' '));

/** Throws where the expression does not parse. */
export function selectorsOf(expression: string): Selector[] {
  return new Parser(expression).parse();
}

class Parser {
  readonly #text: string;
  readonly #tokens: string[] = [];
  readonly #found: Selector[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    TOKEN.lastIndex = 0;
    while (text.slice(TOKEN.lastIndex).trim() !== '') {
      const match = TOKEN.exec(text);
      if (match === null) throw new Error(`not PromQL: ${text}`);
      this.#tokens.push(match[0].trim());
    }
  }

  parse(): Selector[] {
    this.#expression();
    if (this.#peek() !== undefined) this.#fail();
    return this.#found;
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #fail(): never {
    throw new Error(`unexpected ${this.#peek() ?? 'end'} in ${this.#text}`);
  }

  #take(wanted?: string): string {
    const token = this.#peek();
    if (token === undefined || (wanted !== undefined && token !== wanted)) this.#fail();
    this.#at += 1;
    return token;
  }

  #expression(): void {
    this.#operand();
    while (BINARY.has(this.#peek() ?? '')) {
      this.#take();
      if (['on', 'ignoring'].includes(this.#peek() ?? '')) {
        this.#take();
        this.#names();
      }
      this.#operand();
    }
  }

  #operand(): void {
    const token = this.#take();
    if (token === '(') {
      this.#expression();
      this.#take(')');
    } else if (AGGREGATIONS.has(token)) this.#aggregation();
    else if (this.#peek() === '(') {
      if (!FUNCTIONS.has(token)) throw new Error(`unknown function ${token} in ${this.#text}`);
      this.#arguments();
    } else if (/^[a-zA-Z_:]/.test(token)) this.#selector(token);
    else if (!/^\d/.test(token)) this.#fail();
  }

  #aggregation(): void {
    const isGrouped = ['by', 'without'].includes(this.#peek() ?? '');
    if (isGrouped) {
      this.#take();
      this.#names();
    }
    this.#arguments();
  }

  #arguments(): void {
    this.#take('(');
    while (this.#peek() !== ')') {
      this.#expression();
      if (this.#peek() !== ')') this.#take(',');
    }
    this.#take(')');
  }

  #names(): void {
    this.#take('(');
    while (this.#peek() !== ')') {
      if (!/^[a-zA-Z_]/.test(this.#take())) this.#fail();
      if (this.#peek() !== ')') this.#take(',');
    }
    this.#take(')');
  }

  #selector(metric: string): void {
    const labels: string[] = [];
    if (this.#peek() === '{') {
      this.#take('{');
      while (this.#peek() !== '}') {
        labels.push(this.#take());
        if (!['=', '!=', '=~', '!~'].includes(this.#take())) this.#fail();
        if (!this.#take().startsWith('"')) this.#fail();
        if (this.#peek() !== '}') this.#take(',');
      }
      this.#take('}');
    }
    if (this.#peek() === '[') {
      this.#take('[');
      if (!/^(\d+(ms|[smhdwy])|\$__\w+)$/.test(this.#take())) this.#fail();
      this.#take(']');
    }
    this.#found.push({ metric, labels });
  }
}
