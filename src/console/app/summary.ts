/** The summary of the platform, which follows the server. */
import { useEffect, useState } from 'preact/hooks';
import type { Summary } from '../api/summary.ts';
import { setConnection } from './live.ts';
import { errorOf, type Loaded } from './load.ts';
import { momentOf } from './location.ts';
import { client } from './session.ts';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 10_000;

/** Of the present: asks for the next summary as soon as one is there, and the server answers when it differs. */
export function useSummary(moment: string): Pick<Loaded<Summary>, 'value' | 'error'> {
  const [state, setState] = useState<Pick<Loaded<Summary>, 'value' | 'error'>>({
    value: undefined,
    error: undefined,
  });
  useEffect(() => {
    const gone = new AbortController();
    const id = {};
    setState({ value: undefined, error: undefined });
    if (moment !== '') {
      client.summary({ ...momentOf(moment), signal: gone.signal }).then(
        (value) => setState({ value, error: undefined }),
        (error: unknown) => {
          if (!gone.signal.aborted) setState({ value: undefined, error: errorOf(error) });
        },
      );
      return () => gone.abort();
    }
    void followSummary(gone.signal, {
      onValue: (value) => {
        setState({ value, error: undefined });
        setConnection(id, 'connected');
      },
      onError: (error) => {
        setState(({ value }) => ({ value, error }));
        setConnection(id, 'disconnected');
      },
    });
    return () => {
      gone.abort();
      setConnection(id, undefined);
    };
  }, [moment]);
  return state;
}

async function followSummary(
  signal: AbortSignal,
  of: {
    readonly onValue: (value: Summary) => void;
    readonly onError: (error: Error) => void;
  },
): Promise<void> {
  let since: string | undefined;
  let delay = FIRST_DELAY_MS;
  while (!signal.aborted) {
    try {
      const value = await client.summary({ since, signal });
      since = value.metadata.version;
      delay = FIRST_DELAY_MS;
      if (!signal.aborted) of.onValue(value);
    } catch (error) {
      if (signal.aborted) return;
      of.onError(errorOf(error));
      // The daemon may be another one by then.
      since = undefined;
      await new Promise((resolve) => setTimeout(resolve, delay));
      delay = Math.min(2 * delay, LONGEST_DELAY_MS);
    }
  }
}
