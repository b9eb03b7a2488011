/** Thread that merges the files that a push and the branch both changed. */
import { workerData } from 'node:worker_threads';
import { runAtOnce } from '../../../apimachinery/index.ts';
import { fileReader } from '../../../catalog/index.ts';
import { answerRequests } from '../../../concurrency/index.ts';
import { buildKindTable } from '../../../kinds/index.ts';
import { mergeText } from '../../../manifests/index.ts';
import { entryReader } from './entry-reader.ts';
import type { MergeAnswer, MergeRequest, MergeSetup } from './merge-messages.ts';
import { mergeObjects } from './object-merge.ts';

const { apiGroup, under } = workerData as MergeSetup;
const read = entryReader(fileReader(buildKindTable(apiGroup), under));

answerRequests<MergeRequest, MergeAnswer>(async (request) =>
  request.merge === 'objects'
    ? runAtOnce(mergeObjects(request.texts, read))
    : { text: mergeText(request.texts) },
);
