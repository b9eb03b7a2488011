/** Groups of writes that are built on each other while the first is still on its way to the disk. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { StorageError } from '../../../src/git/git-error.ts';
import { type DurableFiles, realFiles } from '../../../src/git/publication/durable-files.ts';
import type { Prepared, Write } from '../../../src/registry/writes/write.ts';
import type { WriteResult } from '../../../src/registry/writes/write-context.ts';
import { expectSound, git, openForTest } from '../../support/git.ts';
import { openTestPlatform, type TestPlatform, team } from '../../support/platform.ts';
import { randomFrom } from '../../support/random.ts';

/** More than what is gathered before a group is built ahead. */
const MANY = 12;

/** A disk whose branch moves when a test lets it, and then as the test says. */
class Gate {
  /** Results of the next moves of the branch, in order; later ones succeed. */
  readonly plan: ('moves' | 'is refused' | 'moves, and the disk fails then')[] = [];
  moves = 0;
  #open: (() => void) | undefined;
  #closed: Promise<void> = Promise.resolve();
  #fails = false;

  readonly files: DurableFiles = {
    ...realFiles,
    link: async (existing, path) => {
      await this.#closed;
      this.moves++;
      const outcome = this.plan.shift();
      if (outcome === 'is refused') throw failure('ENOSPC');
      this.#fails = outcome === 'moves, and the disk fails then';
      await realFiles.link(existing, path);
    },
    syncDirectory: async (path) => {
      const fails = this.#fails && path.endsWith('heads');
      if (fails) {
        this.#fails = false;
        throw failure('EIO');
      }
      await realFiles.syncDirectory(path);
    },
  };

  close(): void {
    this.#closed = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open?.();
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code });
}

async function gated(): Promise<{ gate: Gate; platform: TestPlatform }> {
  const gate = new Gate();
  const repository = await openForTest({ files: gate.files });
  const platform = await openTestPlatform({ repository });
  await platform.commit({ 'teams/first.yaml': team('first') });
  return { gate, platform };
}

function createMany(platform: TestPlatform, prefix: string): Promise<WriteResult>[] {
  return Array.from({ length: MANY }, (_, i) =>
    platform.create('teams', { metadata: { name: `${prefix}-${i}` } }),
  );
}

/** Two groups on their way at once: the names of the second begin with `b`. */
async function inFlight(platform: TestPlatform) {
  const first = createMany(platform, 'a');
  const second: Promise<WriteResult>[] = [];
  for (const all of [first, second]) void Promise.allSettled(all);
  await until(() => platform.branch.waiting === 0);
  second.push(...createMany(platform, 'b'));
  void Promise.allSettled(second);
  await until(() => platform.branch.waiting === 0);
  return { first, second };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

const outcomes = async (writes: readonly Promise<WriteResult>[]): Promise<string[]> =>
  (await Promise.allSettled(writes)).map(({ status }) => status);

/** Names in the order in which the commits made them. */
function committed({ repository }: TestPlatform): string[] {
  const log = git(repository.gitDir, ['log', '--reverse', '--format=%s', 'main']);
  return [...log.matchAll(/^create \S+ "([^"]+)"$/gm)].map(([, name = '']) => name);
}

/** Everything that readers see, and what a new start on the same history would show them. */
async function expectRebuilt(platform: TestPlatform): Promise<void> {
  const seen = (of: TestPlatform) =>
    of.store.list({ group: 'management.gitplane.dev', kind: 'Team' }).items.map(({ object }) => {
      const { resourceVersion: _version, ...metadata } = object.metadata;
      return { ...object, metadata };
    });
  const rebuilt = await openTestPlatform({ repository: platform.repository });
  expect(seen(platform)).toEqual(seen(rebuilt));
  const { catalog } = platform.branch.state;
  expect(catalog.revision).toBe(await platform.repository.head());
  expectSound(platform.repository.gitDir);
}

function watchNames(platform: TestPlatform): string[] {
  const names: string[] = [];
  platform.store.observe({ group: 'management.gitplane.dev', kind: 'Team' }, ({ type, current }) =>
    names.push(`${type} ${current.key.name}`),
  );
  return names;
}

describe('a second group is built while the first is on its way', () => {
  test('readers see it after the first, in the order of the commits', async () => {
    const { gate, platform } = await gated();
    const watched = watchNames(platform);
    gate.close();
    const { first, second } = await inFlight(platform);
    expect(platform.names('teams')).toEqual(['first']);
    expect(gate.moves).toBe(1);
    gate.open();
    await Promise.all([...first, ...second]);
    expect(gate.moves).toBe(3);
    expect(watched).toEqual(committed(platform).map((name) => `ADDED ${name}`));
    await expectRebuilt(platform);
  });

  test('a write to an object in flight waits for the outcome', async () => {
    const { gate, platform } = await gated();
    gate.close();
    const { first } = await inFlight(platform);
    const again = platform.create('teams', { metadata: { name: 'a-0' } });
    const patched = platform.patch('teams', 'b-0', (object) => {
      object.spec = { displayName: 'changed' };
    });
    gate.open();
    await expect(again).rejects.toMatchObject({ reason: 'AlreadyExists' });
    expect((await patched).object).toMatchObject({ metadata: { generation: 2 } });
    await Promise.all(first);
    await expectRebuilt(platform);
  });

  test('the mutex is free when all groups have ended', async () => {
    const { gate, platform } = await gated();
    gate.close();
    await inFlight(platform);
    const exclusive = platform.branch.runExclusive(async (state) => state.catalog.size);
    gate.open();
    expect(await exclusive).toBe(1 + 2 * MANY);
    expect(platform.names('teams')).toHaveLength(1 + 2 * MANY);
  });

  test('closing waits for all groups', async () => {
    const { gate, platform } = await gated();
    gate.close();
    const { first, second } = await inFlight(platform);
    const closed = platform.close();
    gate.open();
    await closed;
    expect(new Set(await outcomes([...first, ...second]))).toEqual(new Set(['fulfilled']));
  });

  test('heads on the way are our own, the one before is too, and others are not', async () => {
    const { gate, platform } = await gated();
    const { branch, repository } = platform;
    const before = await repository.head();
    expect(branch.isOwn(before)).toBe(true);
    gate.close();
    const { first, second } = await inFlight(platform);
    expect(branch.isOwn('1'.repeat(40))).toBe(false);
    expect(branch.isOwn(undefined)).toBe(false);
    gate.open();
    await Promise.all([...first, ...second]);
    expect(branch.isOwn(await repository.head())).toBe(true);
    expect(branch.isOwn(before)).toBe(false);
  });
});

describe('a first group that cannot be published', () => {
  test('fails its writes; those built on it are decided again and succeed', async () => {
    const { gate, platform } = await gated();
    const watched = watchNames(platform);
    gate.close();
    const { first, second } = await inFlight(platform);
    gate.plan.push('is refused');
    gate.open();
    expect(new Set(await outcomes(first))).toEqual(new Set(['rejected']));
    await expect(first[0]).rejects.toThrow(StorageError);
    await Promise.all(second);
    expect(committed(platform)).toEqual(Array.from({ length: MANY }, (_, i) => `b-${i}`));
    expect(watched).toEqual(committed(platform).map((name) => `ADDED ${name}`));
    await expectRebuilt(platform);
  });

  test('fails because another process moved the branch: both groups are decided on its commit', async () => {
    const { gate, platform } = await gated();
    const { gitDir } = platform.repository;
    gate.close();
    const { first, second } = await inFlight(platform);
    const tree = git(gitDir, ['mktree'], {
      input: `100644 blob ${git(gitDir, ['hash-object', '-w', '--stdin'], { input: team('a-0') })}\ta.yaml\n`,
    });
    const head = git(gitDir, ['rev-parse', 'main']);
    const pushed = git(gitDir, ['commit-tree', '-p', head, '-m', 'pushed', tree]);
    git(gitDir, ['update-ref', 'refs/heads/main', pushed, head]);
    gate.open();
    const [taken, ...others] = first;
    await expect(taken).rejects.toMatchObject({ reason: 'AlreadyExists' });
    await Promise.all([...others, ...second]);
    expect(platform.names('teams')).toHaveLength(2 * MANY);
    expect(platform.names('teams')).not.toContain('first');
    await expectRebuilt(platform);
  });

  test('fails its last flush, the branch having moved: readers see the second', async () => {
    const { gate, platform } = await gated();
    gate.close();
    const { first, second } = await inFlight(platform);
    gate.plan.push('moves, and the disk fails then');
    gate.open();
    await expect(first[0]).rejects.toMatchObject({ moved: true });
    await Promise.all(second);
    // Nobody promised the first group, and it is there: readers see what the branch says.
    expect(platform.names('teams')).toHaveLength(1 + 2 * MANY);
    expect(committed(platform)).toHaveLength(2 * MANY);
    await expectRebuilt(platform);
  });
});

describe('long writes', () => {
  test('leave ticks of the event loop to requests between them in a group', async () => {
    const { platform } = await gated();
    using ticks = new Ticks();
    await Promise.all(
      Array.from({ length: 4 }, (_, i) => platform.branch.submit(ticks.write(i, 20))),
    );
    const [first = 0, ...later] = ticks.seen;
    later.reduce((before, one) => {
      expect(one).toBeGreaterThan(before);
      return one;
    }, first);
  });

  test('are followed by a pause, also before the next group', async () => {
    const { platform } = await gated();
    using ticks = new Ticks();
    await platform.branch.submit(ticks.write(0, 200));
    await platform.branch.submit(ticks.write(1, 0));
    const [before = 0, after = 0] = ticks.seen;
    expect(after).toBeGreaterThan(before);
    // The ticks of a time depend on the other programs of the machine.
    const [begun = 0, next = 0] = ticks.begun;
    expect(next - begun).toBeGreaterThan(200 + 25);
  });
});

/** Ticks of the event loop, and the number of them and the time before each write. */
class Ticks {
  readonly seen: number[] = [];
  /** The time at which each write began, in milliseconds. */
  readonly begun: number[] = [];
  #count = 0;
  #timer: NodeJS.Immediate | undefined;

  constructor() {
    this.#tick();
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#timer);
  }

  /** A write that changes nothing and takes the time to decide it. */
  write(index: number, ms: number): Write {
    const key = {
      group: 'management.gitplane.dev',
      kind: 'Team',
      namespace: '',
      name: `t${index}`,
    };
    const prepare = (): Prepared => {
      this.seen.push(this.#count);
      const begun = performance.now();
      this.begun.push(begun);
      const end = begun + ms;
      while (performance.now() < end);
      return { do: 'nothing' };
    };
    return { key, prepare };
  }

  #tick(): void {
    this.#count += 1;
    this.#timer = setImmediate(() => this.#tick());
  }
}

test('an acknowledged write is in history and a refused one is not, at every failure in between', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer(),
      fc.array(fc.constantFrom('moves', 'moves', 'is refused', 'foreign'), { maxLength: 12 }),
      async (seed, plan) => {
        const random = randomFrom(seed);
        const { gate, platform } = await gated();
        const watched = watchNames(platform);
        const done: string[] = [];
        const refused: string[] = [];
        const client = async (id: number): Promise<void> => {
          for (let i = 0; i < 6; i++) {
            const name = `c${id}-${i}`;
            await platform.create('teams', { metadata: { name } }).then(
              () => done.push(name),
              () => refused.push(name),
            );
            if (random.chance(0.2)) await platform.delete('teams', name).catch(() => undefined);
          }
        };
        const others = plan.filter((step) => step === 'foreign').length;
        for (const step of plan)
          if (step === 'moves' || step === 'is refused') gate.plan.push(step);
        const clients = Array.from({ length: 24 }, (_, id) => client(id));
        for (let i = 0; i < others; i++) {
          await new Promise((resolve) => setTimeout(resolve, random.below(12)));
          pushEmpty(platform.repository.gitDir);
          void platform.branch.sync();
        }
        await Promise.all(clients);
        await platform.branch.sync();
        const history = committed(platform);
        expect(history.filter((name) => done.includes(name))).toEqual(
          history.filter((name) => !refused.includes(name)),
        );
        expect(new Set(history)).toEqual(new Set(done));
        expect(watched.filter((line) => line.startsWith('ADDED'))).toEqual(
          history.map((name) => `ADDED ${name}`),
        );
        await expectRebuilt(platform);
      },
    ),
    { numRuns: 6 },
  );
});

/** Moves the branch as a push by path does; gives way when we are first. */
function pushEmpty(gitDir: string): void {
  const head = git(gitDir, ['rev-parse', 'main']);
  const pushed = git(gitDir, ['commit-tree', '-p', head, '-m', 'pushed', `${head}^{tree}`]);
  try {
    git(gitDir, ['update-ref', 'refs/heads/main', pushed, head]);
  } catch {
    // One of our commits came in between.
  }
}
