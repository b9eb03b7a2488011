/** The thread that `PublishingThread` starts. */
import { parentPort, workerData } from 'node:worker_threads';
import { realFiles } from './durable-files.ts';
import { thisOwner } from './owner.ts';
import { decodePublication, encodeFailure } from './publication-message.ts';
import { Publisher } from './publisher.ts';
import type { ThreadReply, ThreadRequest, ThreadSetup } from './publishing-thread.ts';

const { gitDir, ref, lockPatienceMs } = workerData as ThreadSetup;
const options = { files: realFiles, owner: thisOwner, lockPatienceMs };
const publisher = new Publisher({ gitDir, ref }, options);

parentPort?.on('message', async ({ id, publication }: ThreadRequest) => {
  const reply = (answer: ThreadReply): void => parentPort?.postMessage(answer);
  try {
    if (publication === undefined) await publisher.settled();
    else await publisher.publish(decodePublication(publication));
    reply({ id });
  } catch (error) {
    reply({ id, failure: encodeFailure(error) });
  }
});
