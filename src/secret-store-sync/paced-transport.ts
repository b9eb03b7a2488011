/**
 * A transport that sends requests one after another at the learned pace. A request that the store
 * refuses (429) was not executed: it is sent again at the lower pace.
 */
import { Mutex } from '../concurrency/index.ts';
import {
  retryAfterMs,
  type StoreRequest,
  type Transport,
  TransportError,
} from '../secret-store-client/index.ts';
import type { LearnedPace } from './pace.ts';

/** Clock of the pace, in milliseconds. `sleep` rejects when the signal is aborted. */
export interface Timing {
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface PacedOptions {
  readonly pace: LearnedPace;
  readonly timing: Timing;
  /** Called before a request is sent; if it throws, the request is not sent. */
  readonly sending: (request: StoreRequest) => void;
  /** Called when the store refuses a request. */
  readonly refused: () => void;
}

/** A store that asks for a longer delay, or refuses for longer, counts as an outage. */
const MAX_WAIT_MS = 10_000;
const MAX_REFUSAL_MS = 30_000;

export function pacedTransport(transport: Transport, options: PacedOptions): Transport {
  const { pace, timing, sending, refused } = options;
  const closed = new AbortController();
  const slots = new Mutex();
  const slot = async (): Promise<void> => {
    for (let ms = pace.wait(timing.now()); ms > 0; ms = pace.wait(timing.now())) {
      await timing.sleep(ms, closed.signal);
    }
    pace.sent(timing.now());
  };
  const nextSlot = async (): Promise<void> => {
    await slots.run(slot).catch((cause: unknown) => {
      throw new TransportError('The connection to the secret store was closed', false, cause);
    });
  };
  return {
    origin: transport.origin,
    prefix: transport.prefix ?? '',
    close: () => {
      closed.abort();
      transport.close();
    },
    send: async (request) => {
      for (;;) {
        await nextSlot();
        sending(request);
        const sentAt = timing.now();
        const response = await transport.send(request);
        const exchange = { sentAt, now: timing.now() };
        if (response.status !== 429) {
          pace.accepted(response, exchange);
          return response;
        }
        const asked = retryAfterMs(response, Date.now());
        const isTooLong = asked > MAX_WAIT_MS;
        pace.refused(isTooLong ? 0 : asked, exchange);
        refused();
        if (isTooLong || pace.refusedMs(exchange.now) > MAX_REFUSAL_MS) return response;
      }
    },
  };
}
