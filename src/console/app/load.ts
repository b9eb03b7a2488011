/** Data that a page loads: hooks with the states of a request. */
import { useEffect, useState } from 'preact/hooks';

export interface Loaded<T> {
  /** The newest value; the one of before while the next is loading. */
  readonly value: T | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  /** Loads again. */
  reload(): void;
}

/** Loads at first and whenever a value of `inputs` changes. `load` must obey its signal. */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({
    value: undefined,
    error: undefined,
    isLoading: true,
  });
  const [times, setTimes] = useState(0);
  useEffect(() => {
    const gone = new AbortController();
    setState(({ value, error }) => ({ value, error, isLoading: true }));
    load(gone.signal).then(
      (value) => {
        if (!gone.signal.aborted) setState({ value, error: undefined, isLoading: false });
      },
      (error: unknown) => {
        if (!gone.signal.aborted) {
          setState(({ value }) => ({ value, error: errorOf(error), isLoading: false }));
        }
      },
    );
    return () => gone.abort();
  }, [...inputs, times]);
  return { ...state, reload: () => setTimes((before) => before + 1) };
}

export function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
