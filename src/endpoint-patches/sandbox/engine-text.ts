/**
 * Fast copies of texts into and out of the memory of the engine. The build of the engine copies
 * character by character, which takes as long as a small expression itself; Node copies a text in
 * one call.
 */

/** String functions of the engine's module. Addresses are bytes from the start of its memory. */
export interface EngineTexts {
  lengthBytesUTF8(text: string): number;
  stringToUTF8(text: string, at: number, bytes: number): void;
  UTF8ToString(at: number): string;
}

/** Half a surrogate pair becomes U+FFFD: no JSON text holds one, it is written as an escape there. */
export function engineTexts(memory: WebAssembly.Memory): EngineTexts {
  let known = Buffer.from(memory.buffer);
  const bytes = (): Buffer => {
    // Memory that grows gets another buffer.
    if (known.buffer !== memory.buffer) known = Buffer.from(memory.buffer);
    return known;
  };
  return {
    lengthBytesUTF8: (text) => Buffer.byteLength(text),
    stringToUTF8: (text, at, size) => {
      const into = bytes();
      into[at + into.write(text, at, size - 1)] = 0;
    },
    UTF8ToString: (at) => (at === 0 ? '' : bytes().toString('utf8', at, bytes().indexOf(0, at))),
  };
}
