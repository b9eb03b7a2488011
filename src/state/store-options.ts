/** Options of a store: its engine, its clock, and the logs that it writes. */
import type { Clock } from '../apimachinery/index.ts';
import type { StateEngine } from './engines/engine.ts';
import type { JournalWindow } from './journal/journal.ts';
import type { RecordCodec } from './records/codec.ts';
import type { RedoOptions } from './redo/redo-log.ts';

export interface StoreOptions {
  /** Owned by the store: closing the store closes the engine. */
  readonly engine: StateEngine;
  readonly codec: RecordCodec;
  /** Receives errors that listeners throw. Must not throw itself. */
  readonly onError: (error: unknown) => void;
  readonly clock?: Clock;
  readonly window?: Partial<JournalWindow>;
  /**
   * Other processes follow the records of the engine, serve the clients, and show only what is
   * durable. The store writes events for them, and versions continue where the records end.
   */
  readonly followed?: boolean;
  /** With a redo log, watches resume after a crash. Without one, clients list again. */
  readonly redo?: RedoOptions;
}
