import { setMaxListeners } from 'node:events';

/**
 * A signal that is aborted after a time, or with one of the others. It takes the place of
 * `AbortSignal.any([AbortSignal.timeout(ms), …])`, which Node 20 never aborts once the garbage
 * collector has run: nothing holds the inner signal of the time (nodejs/node#57736).
 */
export function deadline(ms: number, ...others: readonly AbortSignal[]): AbortSignal {
  const over = new AbortController();
  const { signal } = over;
  const timer = setTimeout(() => {
    over.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  }, ms).unref();
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  for (const other of others) {
    // Any number of requests at once may end with the same stop: that is no leak.
    setMaxListeners(0, other);
    if (other.aborted) over.abort(other.reason);
    else other.addEventListener('abort', () => over.abort(other.reason), { once: true, signal });
  }
  return signal;
}
