/** A worker thread that answers after as many milliseconds as the request says. */
import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { answerRequests, notify } from '../../src/concurrency/answer-requests.ts';

notify(workerData);
answerRequests<string, string>(async (ms) => {
  await sleep(Number(ms));
  return `waited ${ms}`;
});
