/** The threads that read responses are of the process: connectors come and go with the configuration. */
import { ResponseReaders } from './response-readers.ts';

let shared: ResponseReaders | undefined;
let holders = 0;

export interface HeldReaders {
  readonly readers: ResponseReaders;
  /** Ends the threads when nobody else holds them. To be called once. */
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
