/** The part of the WebAssembly API that is used here; Node's own types leave it out. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Memory {
    constructor(descriptor: { initial: number; maximum: number });
    grow(pages: number): number;
    readonly buffer: ArrayBuffer;
  }
}
