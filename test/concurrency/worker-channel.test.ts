import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { startWorker } from '../../src/concurrency/start-worker.ts';
import {
  WorkerChannel,
  type WorkerChannelOptions,
  WorkerLostError,
} from '../../src/concurrency/worker-channel.ts';

const source = pathToFileURL(join(import.meta.dirname, '../support/echo-thread.ts'));

/** Obeys the request, see the program. */
function obedient(): Worker {
  const program = `
    const { parentPort } = require('node:worker_threads');
    parentPort.on('message', ({ id, request }) => {
      if (request === 'hang') for (;;);
      if (request === 'throw') throw new Error('no');
      if (request === 'exit') process.exit(1);
      if (request === 'silence') return;
      parentPort.postMessage({ id, answer: request });
    });`;
  return new Worker(program, { eval: true, stderr: true, stdout: true });
}

const channels: WorkerChannel<string, string>[] = [];
afterEach(async () => {
  await Promise.all(channels.splice(0).map((channel) => channel.terminate()));
});

function open(options: Partial<WorkerChannelOptions> = {}): WorkerChannel<string, string> {
  const channel = new WorkerChannel<string, string>({ name: 'tests', start: obedient, ...options });
  channels.push(channel);
  return channel;
}

describe('WorkerChannel', () => {
  test('gives each request its own answer, for any order of the answers', async () => {
    const notices: unknown[] = [];
    const channel = open({
      start: () => startWorker(source, { workerData: 'hello' }),
      notified: (notice) => notices.push(notice),
    });

    expect(await Promise.all(['30', '0', '10'].map((ms) => channel.ask(ms)))).toEqual([
      'waited 30',
      'waited 0',
      'waited 10',
    ]);
    expect(notices).toEqual(['hello']);
    expect(channel.pending).toBe(0);
  });

  test.each(['throw', 'exit'])('rejects all its requests when the thread does: %s', async (act) => {
    const lost = vi.fn();
    const channel = open({ lost });
    const all = await Promise.allSettled([channel.ask('silence'), channel.ask(act)]);

    for (const result of all) {
      expect(result).toMatchObject({ status: 'rejected', reason: expect.any(WorkerLostError) });
    }
    expect(lost).toHaveBeenCalledOnce();
    expect(channel.pending).toBe(0);
  });

  test('starts another thread with the first request after a loss', async () => {
    const start = vi.fn(obedient);
    const channel = open({ start });
    await expect(channel.ask('exit')).rejects.toThrow('The thread of tests ended');

    expect(channel.isStarted).toBe(false);
    expect(await channel.ask('again')).toBe('again');
    expect(start).toHaveBeenCalledTimes(2);
  });

  test('ends a thread that misses the deadline, with all its requests', async () => {
    const channel = open();
    expect(await channel.ask('ready')).toBe('ready');
    const hanging = channel.ask('hang', { deadlineMs: 20 });
    const behind = channel.ask('behind');

    await expect(hanging).rejects.toMatchObject({ isLate: true });
    await expect(behind).rejects.toThrow('The thread of tests did not answer in time');
    expect(await channel.ask('next')).toBe('next');
  });

  test('rejects what is pending when it is terminated, and reports no loss', async () => {
    const lost = vi.fn();
    const channel = open({ lost });
    const pending = expect(channel.ask('silence')).rejects.toThrow('The thread of tests was ended');
    await channel.terminate();
    await pending;

    expect(lost).not.toHaveBeenCalled();
    expect(await channel.ask('again')).toBe('again');
  });

  test('rejects when the thread cannot be started or the request cannot be cloned', async () => {
    const broken = open({
      start: () => {
        throw new Error('no setup');
      },
    });
    await expect(broken.ask('x')).rejects.toThrow('no setup');

    const channel = open();
    await expect(channel.ask((() => undefined) as unknown as string)).rejects.toThrow(/clone/);
    expect(channel.pending).toBe(0);
  });
});
