/** Worker threads for responses, shared by all connectors of the process across configurations. */
import { ResponseReaders } from './response-readers.ts';

let shared: ResponseReaders | undefined;
let holders = 0;

export interface HeldReaders {
  readonly readers: ResponseReaders;
  /** Ends the threads with their last user. Call once. */
  release(): Promise<void>;
}

export function holdReaders(): HeldReaders {
  const readers = shared ?? new ResponseReaders();
  shared = readers;
  holders++;
  return {
    readers,
    release: async () => {
      if (--holders > 0) return;
      shared = undefined;
      await readers.close();
    },
  };
}
