/** The thread that `ResponseReaders` starts: reads one response after the other. */
import { answerRequests } from '../../concurrency/index.ts';
import { readResponse } from './read-response.ts';
import type { ReadResult, ThreadRequest } from './worker-messages.ts';

answerRequests<ThreadRequest, ReadResult | undefined>(async (asked) =>
  asked.do === 'read' ? await readResponse(asked.request) : undefined,
);
