/** Results of commands as text or as one JSON document, as `--output` says. */
import { terminalJson, terminalText } from '../apimachinery/index.ts';
import type { ParsedOptions } from '../options/index.ts';

export interface Output {
  write(text: string): void;
}

export function wantsJson(options: ParsedOptions): boolean {
  return options.text('output') === 'json';
}

/** Prints one result. `text` ends with a newline, and may quote other people. */
export function print(
  options: ParsedOptions,
  out: { write(text: string): unknown },
  { text, json }: { readonly text: string; readonly json: unknown },
): void {
  out.write(wantsJson(options) ? `${terminalJson(json)}\n` : terminalText(text));
}

/** Results of a command that handles many items: lines as they come, or one JSON document at the end. */
export class Report<Item> {
  readonly #options: ParsedOptions;
  readonly #out: Output;
  readonly #items: Item[] = [];

  constructor(options: ParsedOptions, out: Output) {
    this.#options = options;
    this.#out = out;
  }

  add(item: Item, line: string): void {
    this.#items.push(item);
    if (!wantsJson(this.#options)) this.#out.write(`${terminalText(line)}\n`);
  }

  get items(): readonly Item[] {
    return this.#items;
  }

  /** `json` is the document around the items. */
  end(json: (items: readonly Item[]) => unknown): void {
    if (wantsJson(this.#options)) {
      this.#out.write(`${terminalJson(json(this.#items))}\n`);
    }
  }
}
