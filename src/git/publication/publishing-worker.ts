/** The thread that `PublishingThread` starts. */
import { workerData } from 'node:worker_threads';
import { answerRequests } from '../../concurrency/index.ts';
import { thisOwner } from '../../files/index.ts';
import { realFiles } from './durable-files.ts';
import { LocalPackWorker } from './pack-worker.ts';
import { decodePublication, encodeFailure } from './publication-message.ts';
import type { ThreadAnswer, ThreadAsk, ThreadSetup } from './publishing-thread.ts';

const packWorker = new LocalPackWorker({
  ...(workerData as ThreadSetup),
  files: realFiles,
  owner: thisOwner,
});

async function answer(ask: ThreadAsk): Promise<void> {
  switch (ask.do) {
    case 'publish':
      return await packWorker.publish(decodePublication(ask.publication));
    case 'show':
      return await packWorker.writeShortLived(decodePublication(ask.publication));
    case 'save':
      return await packWorker.checkpoint(ask.log);
    case 'remove':
      return await packWorker.removeReplaced(ask.tips);
    case 'stock':
      return await packWorker.preallocate(ask.stock);
    case 'settle':
      return await packWorker.close();
  }
}

answerRequests<ThreadAsk, ThreadAnswer>(async (ask) => {
  try {
    await answer(ask);
    return undefined;
  } catch (error) {
    return encodeFailure(error);
  }
});
