/** The thread that `ResponseReaders` starts: reads one response after the other. */
import { parentPort } from 'node:worker_threads';
import { readResponse } from './read-response.ts';
import type { ReadRequest } from './worker-messages.ts';

parentPort?.on('message', async (request: ReadRequest) => {
  parentPort?.postMessage(await readResponse(request));
});
parentPort?.postMessage('ready');
