/** Texts of files by blob, which save a read if a file is written again. */
import { LRUCache } from 'lru-cache';

export type TextsByBlob = Pick<Map<string, string>, 'get'> & {
  set(blob: string, text: string): unknown;
};

const MAX_TEXTS = 2048;
const MAX_CHARACTERS = 32 * 1024 * 1024;

export class FileTexts implements TextsByBlob {
  readonly #recent = new LRUCache<string, string>({
    max: MAX_TEXTS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (text) => text.length + 1,
  });
  readonly #maxInFlight: number;
  /** Texts of the groups in flight, whatever their size: the repository does not have them yet. */
  #inFlight: ReadonlyMap<string, string>[] = [];
  #built = new Map<string, string>();

  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight;
  }

  get(blob: string): string | undefined {
    const group = [this.#built, ...this.#inFlight].find((texts) => texts.has(blob));
    return group?.get(blob) ?? this.#recent.get(blob);
  }

  set(blob: string, text: string): void {
    this.#recent.set(blob, text);
    this.#built.set(blob, text);
  }

  beginGroup(): void {
    this.#built = new Map();
  }

  /** The group is in flight now. */
  keepGroup(): void {
    this.#inFlight = [...this.#inFlight, this.#built].slice(-this.#maxInFlight);
  }
}
