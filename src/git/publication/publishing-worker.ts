/** The thread that `PublishingThread` starts. */
import { parentPort, workerData } from 'node:worker_threads';
import { thisOwner } from '../../files/index.ts';
import { realFiles } from './durable-files.ts';
import { LocalPackWorker } from './pack-worker.ts';
import { decodePublication, encodeFailure } from './publication-message.ts';
import type { ThreadAsk, ThreadReply, ThreadRequest, ThreadSetup } from './publishing-thread.ts';

const workshop = new LocalPackWorker({
  ...(workerData as ThreadSetup),
  files: realFiles,
  owner: thisOwner,
});

async function answer(ask: ThreadAsk): Promise<void> {
  switch (ask.do) {
    case 'publish':
      return await workshop.publish(decodePublication(ask.publication));
    case 'show':
      return await workshop.show(decodePublication(ask.publication));
    case 'save':
      return await workshop.save(ask.log);
    case 'remove':
      return await workshop.remove(ask.tips);
    case 'stock':
      return await workshop.stock(ask.stock);
    case 'settle':
      return await workshop.settled();
  }
}

parentPort?.on('message', async ({ id, ask }: ThreadRequest) => {
  const reply = (message: ThreadReply): void => parentPort?.postMessage(message);
  try {
    await answer(ask);
    reply({ id });
  } catch (error) {
    reply({ id, failure: encodeFailure(error) });
  }
});
