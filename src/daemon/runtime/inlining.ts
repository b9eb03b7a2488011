/**
 * V8 optimizes a thousand functions during the first ten thousand writes. It copies the functions that one
 * calls into it, up to 920 bytes of bytecode by default, so that the same code is optimized many times
 * ([decision 176](../../../docs/adr/0176-v8-inlines-less.md)).
 */
import { setFlagsFromString } from 'node:v8';

/** Bytes of bytecode that V8 copies into one function. */
const INLINED_BYTES = 250;

/** For all threads. V8 refuses cached code of other flags, so the files of the start must be loaded. */
export function inlineLess(): void {
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${INLINED_BYTES}`);
}
