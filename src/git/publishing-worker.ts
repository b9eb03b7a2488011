/** The thread that `PublishingThread` starts. */
import { parentPort, workerData } from 'node:worker_threads';
import { realFiles } from './durable-files.ts';
import { replayLogs } from './log-replay.ts';
import { LoggedPublisher } from './logged-publisher.ts';
import { silent } from './logger.ts';
import { thisOwner } from './owner.ts';
import { decodePublication, encodeFailure } from './publication-message.ts';
import type { ThreadReply, ThreadRequest, ThreadSetup } from './publishing-thread.ts';

const { gitDir, ref, lockPatienceMs } = workerData as ThreadSetup;
const options = { files: realFiles, owner: thisOwner, lockPatienceMs };
let publisher: LoggedPublisher | undefined;
const holds: (() => void)[] = [];

/** A thread before this one may have been lost: what it left is replayed before it is added to. */
async function open(): Promise<LoggedPublisher> {
  await replayLogs(gitDir, { files: realFiles, logger: silent, isOwn: true });
  return new LoggedPublisher({ gitDir, ref }, options);
}

let opening: Promise<LoggedPublisher> | undefined;

async function opened(): Promise<LoggedPublisher> {
  opening ??= open();
  try {
    return await opening;
  } catch (error) {
    // The next one may find room on the disk.
    opening = undefined;
    throw error;
  }
}

async function answer(ask: ThreadRequest['ask']): Promise<void> {
  publisher ??= await opened();
  const to = publisher;
  if (ask === 'settle') return await to.settled();
  if (ask === 'let go') return holds.pop()?.();
  if (ask !== 'hold') return await to.publish(decodePublication(ask));
  await new Promise<void>((resolve) => {
    void to.whileStill(() => {
      resolve();
      return new Promise<void>((letGo) => void holds.push(letGo));
    });
  });
}

opened().then(
  (to) => {
    publisher = to;
  },
  () => undefined,
);

parentPort?.on('message', async ({ id, ask }: ThreadRequest) => {
  const reply = (message: ThreadReply): void => parentPort?.postMessage(message);
  try {
    await answer(ask);
    reply({ id });
  } catch (error) {
    reply({ id, failure: encodeFailure(error) });
  }
});
