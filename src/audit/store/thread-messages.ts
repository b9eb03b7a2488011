/** Messages between the daemon and the thread of its data store. */
import type { DataStoreEndpoint } from '../../kinds/index.ts';
import type { EventQuery } from './event-store.ts';

export interface ThreadSetup {
  readonly endpoint: DataStoreEndpoint;
  /** 0: for ever. */
  readonly keptMs: number;
}

export type ThreadRequest =
  | { readonly act: 'open' | 'close' }
  | { readonly act: 'append'; readonly lines: Uint8Array }
  | { readonly act: 'find'; readonly query: EventQuery };

/** Message and code, without credentials. */
export interface ThreadFailure {
  readonly message: string;
  readonly code: string | undefined;
}

export interface ThreadReply {
  readonly result?: unknown;
  readonly failure?: ThreadFailure;
}
