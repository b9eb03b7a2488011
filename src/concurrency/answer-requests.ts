/** The side of the thread of a `WorkerChannel`. */
import { parentPort, type Transferable } from 'node:worker_threads';
import type { RequestMessage, ThreadMessage } from './worker-channel.ts';

/** Answers each request. A handler that rejects ends the thread, so expected failures are answers. */
export function answerRequests<Request, Answer>(
  handle: (request: Request) => Promise<Answer>,
  transferOf: (answer: Answer) => Transferable[] = () => [],
): void {
  parentPort?.on('message', async ({ id, request }: RequestMessage<Request>) => {
    const answer = await handle(request);
    parentPort?.postMessage({ id, answer } satisfies ThreadMessage<Answer>, transferOf(answer));
  });
}

/** Sends a message that answers no request. */
export function notify(notice: unknown): void {
  parentPort?.postMessage({ notice } satisfies ThreadMessage<never>);
}
