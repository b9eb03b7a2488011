/** What the conformance suite of stores asks of an implementation, and what each test gets. */
import { afterEach, beforeEach } from 'vitest';
import type { Clock } from '../../../src/apimachinery/clock.ts';
import type { JournalWindow } from '../../../src/state/journal/journal.ts';
import type { Store } from '../../../src/state/store.ts';
import { SetClock } from '../../state/builders.ts';

export interface StoreSetup {
  readonly clock?: Clock;
  readonly window?: Partial<JournalWindow>;
  readonly onError?: (error: unknown) => void;
}

export interface StoreHarness {
  /** A store on what the last one left; on nothing at first. */
  open(setup?: StoreSetup): Promise<Store>;
  /**
   * The process dies now, as far as the next `open` can tell: only what is on stable storage at
   * the moment of the call is left. The store that was open is not touched.
   */
  crash(): void;
  dispose(): Promise<void>;
}

export type MakeHarness = () => Promise<StoreHarness>;

/** The harness and the opened store of the running test. */
export interface Fixture {
  harness: StoreHarness;
  store: Store;
  clock: SetClock;
  errors: unknown[];
  /** Closes the store and opens it again. */
  restart(): Promise<void>;
}

/** Opens a store before each test of the block and closes it after. */
export function useStore(make: MakeHarness, window: Partial<JournalWindow> = {}): Fixture {
  const fixture = {} as Fixture;
  beforeEach(async () => {
    const harness = await make();
    const clock = new SetClock();
    const errors: unknown[] = [];
    const setup = { clock, window, onError: (error: unknown) => void errors.push(error) };
    const restart = async (): Promise<void> => {
      await fixture.store.close();
      fixture.store = await harness.open(setup);
    };
    const store = await harness.open(setup);
    Object.assign(fixture, { harness, store, clock, errors, restart });
  });
  afterEach(async () => {
    await fixture.store.close();
    await fixture.harness.dispose();
  });
  return fixture;
}
