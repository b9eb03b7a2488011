/** Entry point of the thread that `PublishingThread` starts. */
import { workerData } from 'node:worker_threads';
import { answerRequests, collectGarbageAtRest, shrinkBufferPool } from '../../concurrency/index.ts';
import { thisOwner } from '../../files/index.ts';
import { realFiles } from './durable-files.ts';
import { LocalPackWorker } from './pack-worker.ts';
import { decodePublication, encodeFailure } from './publication-message.ts';
import type { ThreadAnswer, ThreadAsk, ThreadSetup } from './publishing-thread.ts';

shrinkBufferPool();
const setup: ThreadSetup = workerData;
const packWorker = new LocalPackWorker({ ...setup, files: realFiles, owner: thisOwner });

async function answer(ask: ThreadAsk): Promise<void> {
  switch (ask.do) {
    case 'publish':
      return await packWorker.publish(decodePublication(ask.publication));
    case 'writeShortLived':
      return await packWorker.writeShortLived(decodePublication(ask.publication));
    case 'checkpoint':
      return await packWorker.checkpoint(ask.segment);
    case 'removeReplaced':
      return await packWorker.removeReplaced(ask.tips);
    case 'preallocate':
      return await packWorker.preallocate(ask.files);
    case 'close':
      return await packWorker.close();
  }
}

/** A checkpoint leaves the buffers of the pack before, and an idle thread collects nothing. */
collectGarbageAtRest({ bytes: 8 * 1024 * 1024 });

answerRequests<ThreadAsk, ThreadAnswer>(async (ask) => {
  try {
    await answer(ask);
    return undefined;
  } catch (error) {
    return encodeFailure(error);
  }
});
