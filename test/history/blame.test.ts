/** The memory of a blame. Its results: `test/e2e/overview.test.ts`. */
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { startWorker } from '../../src/concurrency/start-worker.ts';

test('the blame of many large versions takes the memory of a few', async () => {
  const worker = startWorker(new URL('./blame-thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  const [fields] = await once(worker, 'message');
  await worker.terminate();

  expect(fields).toEqual([
    { path: 'spec.data.large', revision: 'commit-599' },
    { path: 'spec.data.small', revision: 'commit-0' },
  ]);
});
