/**
 * Results of `job` for each item, in the order of the items, with at most `limit` jobs at once. After
 * a job failed no other one starts; the promise rejects with that failure when the running ones have
 * ended.
 */
export async function mapLimit<T, R>(
  items: readonly T[],
  limit: number,
  job: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  const waiting = items.entries();
  let failure: { readonly error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (const [index, item] of waiting) {
      if (failure !== undefined) return;
      try {
        results[index] = await job(item, index);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failure !== undefined) throw failure.error;
  return results;
}
