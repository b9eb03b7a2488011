/** The thread that `ResponseReaders` starts: reads one response after the other. */
import { parentPort } from 'node:worker_threads';
import { readResponse } from './read-response.ts';
import type { ReadingRequest } from './reading.ts';

parentPort?.on('message', async (request: ReadingRequest) => {
  parentPort?.postMessage(await readResponse(request));
});
parentPort?.postMessage('ready');
