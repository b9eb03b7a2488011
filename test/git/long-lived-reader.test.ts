/**
 * Long-lived git processes beside the publisher: `git cat-file --batch-check` never misses a commit
 * that was acknowledged, at whatever step of a publication and of a save the publisher stops.
 */
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type DurableFiles, realFiles } from '../../src/git/publication/durable-files.ts';
import { commitOf, gitEnv, openForTest, packFiles, publish } from '../support/git.ts';

/** Room for the head and four small groups. */
const LOG_BYTES = 20 * 1024;

interface LongReader {
  /** Answer of git: `<id> <type> <size>`, or `<id> missing`. */
  ask(id: string): Promise<string>;
  /** The system call that the process waits in, as a number with its arguments. */
  waitsIn(): string;
}

function longReader(gitDir: string): LongReader {
  const child = spawn('git', ['--git-dir', gitDir, 'cat-file', '--batch-check'], {
    env: gitEnv,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const waiting: ((line: string) => void)[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line));
  return {
    ask: (id) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        child.stdin.write(`${id}\n`);
      }),
    waitsIn: () => readFileSync(`/proc/${child.pid}/syscall`, 'utf8'),
  };
}

/** The file system, which calls `before` ahead of each change of a name or of content. */
function stepping(before: () => Promise<void>): DurableFiles {
  let last: Promise<unknown> = Promise.resolve();
  const step = <A extends unknown[], T>(work: (...args: A) => Promise<T>) => {
    return (...args: A): Promise<T> => {
      // One step at a time, although the publisher takes some side by side.
      const done = last.then(before).then(() => work(...args));
      last = done.catch(() => undefined);
      return done;
    };
  };
  return {
    create: step(realFiles.create),
    open: step(realFiles.open),
    fill: step(realFiles.fill),
    syncFile: step(realFiles.syncFile),
    link: step(realFiles.link),
    rename: step(realFiles.rename),
    remove: step(realFiles.remove),
    makeDirectory: step(realFiles.makeDirectory),
    syncDirectory: step(realFiles.syncDirectory),
  };
}

test.each([
  ['by way of a log', LOG_BYTES],
  ['without a log', undefined],
])('every commit is found at every step, %s', async (_how, segmentBytes) => {
  const acknowledged: string[] = [];
  let look = async (): Promise<void> => undefined;
  let steps = 0;
  const files = stepping(() => look());
  const log = segmentBytes === undefined ? {} : { segmentBytes, graceMs: 0 };
  const repository = await openForTest({ files, ...log });
  const { gitDir } = repository;
  const reader = longReader(gitDir);
  const missing: string[] = [];
  acknowledged.push(...(await publish(repository, commitOf({ first: '0' }))));
  look = async () => {
    steps += 1;
    const branch = readFileSync(join(gitDir, 'refs/heads/main'), 'utf8').trim();
    for (const id of [branch, ...acknowledged.slice(-12)]) {
      const answer = await reader.ask(id);
      if (!answer.startsWith(`${id} commit `)) missing.push(`${steps}: ${answer}`);
    }
  };
  for (let i = 0; i < 12; i++) {
    acknowledged.push(...(await publish(repository, commitOf({ [`f${i}`]: `${i}` }))));
  }
  await repository.close();
  look = async () => undefined;
  expect(missing).toEqual([]);
  expect(steps).toBeGreaterThan(segmentBytes === undefined ? 60 : 40);
});

describe.runIf(process.platform === 'linux')(
  'a reader that stops between its list of packs and the first index that it opens',
  () => {
    test.each([
      ['finds a commit whose pack was replaced meanwhile', Number.POSITIVE_INFINITY, 'commit'],
      ['would miss it if the replaced pack went at once', 0, 'missing'],
    ])('%s', async (_what, graceMs, expected) => {
      const repository = await openForTest({ segmentBytes: LOG_BYTES, graceMs });
      const { gitDir } = repository;
      const [first = ''] = await publish(repository, commitOf({ first: '0' }));
      const reader = longReader(gitDir);
      expect(await reader.ask(first)).toContain(' commit ');
      const idle = await stable(reader);
      // The newest pack is asked first: its index is a pipe, at which git waits.
      const pipe = join(gitDir, 'objects/pack/pack-stop.idx');
      execFileSync('mkfifo', [pipe]);
      const pack = pipe.replace('.idx', '.pack');
      writeFileSync(pack, '');
      const later = Date.now() / 1000 + 3600;
      utimesSync(pack, later, later);

      const [id = ''] = await publish(repository, commitOf({ a: '1' }));
      const answer = reader.ask(id);
      await vi.waitFor(async () => expect(await stable(reader)).not.toBe(idle), 10_000);
      for (let i = 0; i < 4; i++) await publish(repository, commitOf({ a: `${i + 2}` }));
      await vi.waitFor(
        // Replaced packs stay, so that a slow machine has more than one.
        () => expect(packsWith(gitDir, id).filter(isLasting)).not.toEqual([]),
        10_000,
      );
      const replaced = `pack-gitplane-${id}.idx`;
      await vi.waitFor(
        () => expect(packFiles(gitDir).includes(replaced)).toBe(graceMs > 0),
        10_000,
      );
      closeSync(openSync(pipe, 'w'));
      expect(await answer).toContain(expected);
      rmSync(pipe);
      expect(await longReader(gitDir).ask(id)).toContain(' commit ');
    });
  },
);

/** The system call that the process waits in, once it is the same twice. */
async function stable(reader: LongReader): Promise<string> {
  let seen = '';
  await vi.waitFor(() => {
    const before = seen;
    seen = reader.waitsIn();
    expect(seen).toBe(before);
    expect(seen).not.toContain('running');
  }, 10_000);
  return seen;
}

/** Indexes that name the object, as a process that starts now finds them. */
function packsWith(gitDir: string, id: string): string[] {
  const indexes = packFiles(gitDir).filter((name) => name.endsWith('.idx') && !/stop/.test(name));
  return indexes.filter((name) => {
    const input = readFileSync(join(gitDir, 'objects/pack', name));
    return execFileSync('git', ['show-index'], { env: gitEnv, input }).includes(id);
  });
}

function isLasting(name: string): boolean {
  return /^pack-[0-9a-f]{40}\.idx$/.test(name);
}
