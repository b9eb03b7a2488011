/** Persistent git processes: what dies is replaced, and only who killed it pays. */
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { catFileProtocol } from '../../../src/git/reading/cat-file.ts';
import { diffTreeProtocol } from '../../../src/git/reading/diff-tree.ts';
import { RequestProcess } from '../../../src/git/reading/request-process.ts';
import { bareRepository, commitOf, git, openForTest, publish } from '../../support/git.ts';

/** The git processes this one has started for a repository. */
function children(gitDir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const isOurs = Number(parent) === process.pid && state !== 'Z';
        return (
          isOurs && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`GIT_DIR=${gitDir}\0`)
        );
      } catch {
        return false;
      }
    });
}

async function blobs(gitDir: string, count: number): Promise<string[]> {
  return Array.from({ length: count }, (_, i) =>
    git(gitDir, ['hash-object', '-w', '--stdin'], { input: `blob ${i}` }),
  );
}

const linux = process.platform === 'linux';

// The processes are found and counted in /proc.
test.runIf(linux)(
  'a process is started by the first request and serves the next ones',
  async () => {
    const gitDir = await bareRepository();
    const process = new RequestProcess({ gitDir }, catFileProtocol(1000));
    onTestFinished(() => process.close());
    expect(children(gitDir)).toEqual([]);
    const [id = ''] = await blobs(gitDir, 1);
    await process.ask(id);
    const [pid] = children(gitDir);
    await Promise.all([process.ask(id), process.ask(id)]);
    expect(children(gitDir)).toEqual([pid]);
    await process.close();
    expect(children(gitDir)).toEqual([]);
  },
);

test.runIf(linux)(
  'requests in the pipe of a process that is killed are answered by the next',
  async () => {
    const gitDir = await bareRepository();
    const requests = new RequestProcess({ gitDir }, catFileProtocol(1000));
    onTestFinished(() => requests.close());
    const ids = await blobs(gitDir, 20);
    await requests.ask(ids[0] ?? '');
    for (let round = 0; round < 3; round++) {
      const asked = Array.from({ length: 2000 }, (_, i) => requests.ask(ids[i % 20] ?? ''));
      for (const pid of children(gitDir)) process.kill(pid, 'SIGKILL');
      const found = await Promise.all(asked);
      expect(found.map((reply) => String(reply?.content))).toEqual(
        Array.from({ length: 2000 }, (_, i) => `blob ${i % 20}`),
      );
    }
  },
);

test('an object that kills the process fails alone', async () => {
  const gitDir = await bareRepository();
  const ids = await blobs(gitDir, 10);
  const noise = Buffer.from(Array.from({ length: 20_000 }, (_, i) => (i * i * 31) >>> 7));
  const corrupt = git(gitDir, ['hash-object', '-w', '--stdin'], { input: noise });
  ids[4] = corrupt;
  const path = join(gitDir, 'objects', corrupt.slice(0, 2), corrupt.slice(2));
  chmodSync(path, 0o644);
  writeFileSync(path, readFileSync(path).fill(0xaa, 10_000));
  const process = new RequestProcess({ gitDir }, catFileProtocol(100_000));
  onTestFinished(() => process.close());
  const results = await Promise.allSettled(ids.map((id) => process.ask(id)));
  const contents = results.map((result) =>
    result.status === 'fulfilled'
      ? String(result.value?.content)
      : (result.reason as Error).message,
  );
  expect(contents.filter((_, i) => i !== 4)).toEqual(
    [0, 1, 2, 3, 5, 6, 7, 8, 9].map((i) => `blob ${i}`),
  );
  expect(contents[4]).toContain(corrupt);
});

test.runIf(linux)(
  'an object that is missing is looked for once more, by a new process',
  async () => {
    const gitDir = await bareRepository();
    const [id = ''] = await blobs(gitDir, 1);
    const process = new RequestProcess({ gitDir }, catFileProtocol(1000));
    onTestFinished(() => process.close());
    await process.ask(id);
    const [first] = children(gitDir);
    expect(await process.ask('1'.repeat(40))).toBeUndefined();
    const [second] = children(gitDir).filter((pid) => pid !== first);
    expect(second).toBeDefined();
    expect(String((await process.ask(id))?.content)).toBe('blob 0');
  },
);

test('retiring loses no answer', async () => {
  const gitDir = await bareRepository();
  const process = new RequestProcess({ gitDir }, catFileProtocol(1000));
  onTestFinished(() => process.close());
  const ids = await blobs(gitDir, 5);
  const asked = Array.from({ length: 500 }, (_, i) => {
    if (i % 50 === 7) process.retire();
    return process.ask(ids[i % 5] ?? '');
  });
  const found = await Promise.all(asked);
  expect(found.map((reply) => String(reply?.content))).toEqual(
    asked.map((_, i) => `blob ${i % 5}`),
  );
  expect(process.pending).toBe(0);
});

test('a process is replaced after its number of requests', async () => {
  const repository = await openForTest();
  const [id = ''] = await publish(repository, commitOf({ a: '1' }));
  const protocol = { ...diffTreeProtocol, maxRequests: 3 };
  const process = new RequestProcess({ gitDir: repository.gitDir }, protocol);
  onTestFinished(() => process.close());
  const replies = await Promise.all(Array.from({ length: 20 }, () => process.ask(`${id}\n=`)));
  expect(replies.map((lists) => lists?.[0]?.map((change) => change.path))).toEqual(
    Array(20).fill(['a']),
  );
});

test('close rejects new and pending requests', async () => {
  const gitDir = await bareRepository();
  const [id = ''] = await blobs(gitDir, 1);
  const process = new RequestProcess({ gitDir }, catFileProtocol(1000));
  const pending = process.ask(id).then(
    () => 'answered',
    (error: Error) => error.message,
  );
  await process.close();
  expect(await pending).toMatch(/failed with signal SIGKILL/);
  await expect(process.ask(id)).rejects.toThrow('closed');
});

test('a repository that is gone is an error and not a wait', async () => {
  const process = new RequestProcess({ gitDir: '/nowhere/repo.git' }, catFileProtocol(1000));
  onTestFinished(() => process.close());
  await expect(process.ask('1'.repeat(40))).rejects.toThrow('git cannot be started');
});
