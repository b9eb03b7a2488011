/**
 * A sandbox thread: applies patches to one object after the other. The pool may terminate it at any
 * moment, so it holds no state that cannot be rebuilt.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { JsonObject } from '../../apimachinery/index.ts';
import { sortedCopy } from '../canonical.ts';
import type { Evaluator } from '../evaluator.ts';
import { compilePatches, type PatchProgram } from '../program.ts';
import type { PatchOutcome } from '../report.ts';
import { type ApplyRequest, runPatches } from '../run.ts';
import {
  NO_PATCH,
  type ThreadAnswer,
  type ThreadData,
  type ThreadJob,
  type ToThread,
} from './messages.ts';
import { Realm } from './realm.ts';

const port = parentPort;
if (port === null) throw new Error('This program is the thread of a sandbox');
const { limits, current } = workerData as ThreadData;
const running = new Int32Array(current);

const programs = new Map<string, PatchProgram>();
const realms = new Map<string, Realm>();

let turn: Promise<void> = Promise.resolve();
port.on('message', (message: ToThread) => {
  // An error here is a defect of ours: it ends the thread, and the pool answers for the job.
  turn = turn.then(() => handle(message));
});

async function handle(message: ToThread): Promise<void> {
  if (message.type === 'program') {
    programs.set(message.id, compilePatches(message.source));
  } else if (message.type === 'forget') {
    programs.delete(message.id);
    realms.delete(message.id);
  } else {
    const answers: ThreadAnswer[] = [];
    for (const job of message.jobs) {
      Atomics.store(running, 1, NO_PATCH);
      Atomics.store(running, 0, -job.job);
      answers.push({ job: job.job, outcome: JSON.stringify(await apply(job)) });
    }
    Atomics.store(running, 0, 0);
    port?.postMessage(answers);
  }
}

async function apply({ id, job, request: text }: ThreadJob): Promise<PatchOutcome> {
  const program = programs.get(id);
  if (program === undefined) throw new Error(`There is no program ${id} in this thread`);
  const realm = await realmOf(program);
  Atomics.store(running, 0, job);
  const request = JSON.parse(text) as ApplyRequest;
  realm.begin({
    host: () => jsonOf(request.hostObject),
    virtual: () => jsonOf(request.virtualObject),
  });
  const outcome = runPatches(program, request, observed(realm));
  if (realm.spent) realms.delete(id);
  return outcome;
}

/** Records which patch runs, for the report when the pool terminates this thread. */
function observed(realm: Realm): Evaluator {
  return {
    evaluate: (evaluation) => {
      Atomics.store(running, 1, evaluation.patch);
      return realm.evaluate(evaluation);
    },
    get fuel() {
      return realm.fuel;
    },
  };
}

async function realmOf(program: PatchProgram): Promise<Realm> {
  const known = realms.get(program.id);
  if (known !== undefined) return known;
  const opened = await Realm.open(program, limits);
  realms.set(program.id, opened);
  return opened;
}

function jsonOf(object: JsonObject | null | undefined): string {
  return object === null || object === undefined ? 'null' : JSON.stringify(sortedCopy(object));
}
