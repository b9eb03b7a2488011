import { type ChildProcess, execFile, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import type { EngineEntry } from '../../../src/state/engines/engine.ts';
import { openLmdbEngine } from '../../../src/state/engines/lmdb-engine.ts';
import { StateError } from '../../../src/state/state-error.ts';
import { testStateEngine } from '../../conformance/state-engine.ts';
import { fail, lmdbHarness } from '../harnesses.ts';

testStateEngine('the LMDB engine', lmdbHarness);

const WRITER = new URL('../batch-writer.ts', import.meta.url).pathname;

const temporary = test.extend('root', async ({}, { onCleanup }) => {
  const root = fs.mkdtempSync(join(tmpdir(), 'gitplane-state-'));
  onCleanup(() => fs.rmSync(root, { recursive: true }));
  return root;
});

function open(directory: string): ReturnType<typeof openLmdbEngine> {
  return openLmdbEngine(directory, { onError: fail });
}

async function load(directory: string): Promise<Map<string, string>> {
  const engine = await open(directory);
  const loaded = new Map<string, string>();
  for await (const [key, value] of engine.load('')) loaded.set(key, value.toString());
  await engine.close();
  return loaded;
}

/** A closed directory with 2,000 entries of a kilobyte. */
async function filled(directory: string): Promise<void> {
  const engine = await open(directory);
  const value = Buffer.alloc(1024, 'v');
  engine.write(Array.from({ length: 2000 }, (_, i) => ({ key: `k${i}`, value })));
  await engine.close();
}

function mode(path: string): string {
  return (fs.statSync(path).mode & 0o777).toString(8);
}

describe('files', () => {
  temporary('only the owner can read them', async ({ root }) => {
    const directory = join(root, 'a', 'state');

    await filled(directory);

    expect(mode(directory)).toBe('700');
    expect(fs.readdirSync(directory).sort()).toEqual(['closed', 'data.mdb', 'lock.mdb']);
    for (const file of fs.readdirSync(directory)) expect(mode(join(directory, file))).toBe('600');
  });

  temporary('files that others could read are closed to them', async ({ root }) => {
    await filled(root);
    fs.chmodSync(join(root, 'data.mdb'), 0o644);

    await load(root);

    expect(mode(join(root, 'data.mdb'))).toBe('600');
  });

  temporary('a path that is no directory is refused with the remedy', async ({ root }) => {
    const path = join(root, 'file');
    fs.writeFileSync(path, '');

    const error = await open(path).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(StateError);
    expect((error as Error).message).toContain(
      `the state directory ${path} cannot be used: EEXIST`,
    );
    expect((error as Error).message).toContain('gitplane may write to');
  });
});

describe('memory', () => {
  /** Bytes of the file that count as memory of this process. */
  function mapped(directory: string): number {
    const areas = fs.readFileSync('/proc/self/smaps', 'utf8').split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/);
    const own = areas.filter((area) => area.split('\n', 1)[0]?.endsWith(`${directory}/data.mdb`));
    return own.reduce((sum, area) => sum + Number(/^Rss:\s+(\d+)/m.exec(area)?.[1]) * 1024, 0);
  }

  temporary.runIf(process.platform === 'linux')(
    'what was loaded is let go of, and the engine reads and writes on',
    async ({ root }) => {
      const directory = fs.realpathSync(root);
      await filled(directory);
      const engine = await open(directory);
      expect([...(engine.load('') as Iterable<EngineEntry>)]).toHaveLength(2000);
      const before = mapped(directory);

      await engine.loaded?.();

      expect(before).toBeGreaterThan(2_000_000);
      expect(mapped(directory)).toBeLessThan(before / 10);
      engine.write([{ key: 'later', value: Buffer.from('1') }]);
      await engine.flush();
      expect([...(engine.load('') as Iterable<EngineEntry>)]).toHaveLength(2001);
      await engine.close();
      expect((await load(directory)).get('later')).toBe('1');
    },
  );

  temporary.runIf(process.platform === 'linux')(
    'pages that transactions touched are returned, and the engine reads and writes on',
    async ({ root }) => {
      const directory = fs.realpathSync(root);
      const engine = await open(directory);
      const value = Buffer.alloc(1024, 'v');
      engine.write(Array.from({ length: 2000 }, (_, i) => ({ key: `k${i}`, value })));
      await engine.flush();

      await expect.poll(() => mapped(directory), { timeout: 20_000 }).toBe(0);

      engine.write([{ key: 'later', value }]);
      await engine.flush();
      expect([...(engine.load('') as Iterable<EngineEntry>)]).toHaveLength(2001);
      await engine.close();
      expect((await load(directory)).size).toBe(2001);
    },
  );
});

describe('damage', () => {
  const damages: { name: string; damage: (file: Buffer) => Buffer }[] = [
    { name: 'text instead of a database', damage: () => Buffer.from('hello world') },
    { name: 'noise instead of a database', damage: (file) => Buffer.alloc(file.length, 7) },
    { name: 'the first page is all that is left', damage: (file) => file.subarray(0, 4096) },
    { name: 'the first two pages are left', damage: (file) => file.subarray(0, 8192) },
    { name: 'half of the file is left', damage: (file) => file.subarray(0, file.length >> 1) },
    {
      name: 'half of the file is zeros',
      damage: (file) =>
        Buffer.concat([file.subarray(0, file.length >> 1), Buffer.alloc(file.length >> 1)]),
    },
    {
      name: 'pages in the middle are noise',
      damage: (file) => Buffer.from(file).fill(0xa5, file.length >> 1, (file.length >> 1) + 65_536),
    },
  ];

  for (const { name, damage } of damages) {
    temporary(`is one clear error, not the end of the process: ${name}`, async ({ root }) => {
      await filled(root);
      const file = join(root, 'data.mdb');
      fs.writeFileSync(file, damage(fs.readFileSync(file)));

      const error = await open(root).catch((thrown: unknown) => thrown);

      expect(error).toBeInstanceOf(StateError);
      expect((error as Error).message).toBe(
        `the state in ${root} cannot be read: the file data.mdb is damaged; delete it, it is rebuilt from git`,
      );
    });
  }

  temporary('an undamaged file that was not closed is read', async ({ root }) => {
    await filled(root);
    fs.rmSync(join(root, 'closed'));

    expect((await load(root)).size).toBe(2000);
  });
});

describe('crashes', () => {
  temporary('a killed process leaves every durable batch, and no half of one', async ({ root }) => {
    for (const stopAt of [0, 7, 40]) {
      const directory = join(root, String(stopAt));
      const last = await runWriter(directory, { stopAt });

      const loaded = await load(directory);

      const value = Number(loaded.get('a'));
      expect(value).toBeGreaterThanOrEqual(last);
      expect(loaded.get('b')).toBe(String(value));
      expect(loaded.size).toBe(value + 3);
    }
  });

  temporary('a write that is refused leaves a prefix, dead or alive', async ({ root }) => {
    // The process may or may not survive the refusal; see `#checkRoom`.
    const script = `ulimit -f 500; "$0" --import tsx "${WRITER}" "${root}" 10000; exit 0`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script, process.execPath]);
    const last = Math.max(...(stdout.match(/^\d+$/gm) ?? []).map(Number));

    const loaded = await load(root);

    expect(last).toBeGreaterThan(0);
    expect(loaded.get('a')).toBe(String(last));
    expect(loaded.get('b')).toBe(String(last));
    expect(loaded.has('later')).toBe(false);
  });

  describe('a full disk', () => {
    const MOST = 1e12;

    async function openOn(root: string, disk: { free: number }) {
      const reported: StateError[] = [];
      let recovered = 0;
      const engine = await openLmdbEngine(root, {
        onError: (error) => void reported.push(error),
        onRecovered: () => {
          recovered += 1;
        },
        freeBytes: () => disk.free,
      });
      return { engine, reported, recoveries: () => recovered };
    }

    temporary('is reported once, with its code', async ({ root }) => {
      const disk = { free: MOST };
      const { engine, reported } = await openOn(root, disk);
      engine.write([{ key: 'a', value: Buffer.from('1') }]);
      await engine.flush();
      disk.free = 1_000_000;

      engine.write([{ key: 'b', value: Buffer.from('2') }]);
      await expect(engine.flush()).rejects.toThrow(
        /^the state in .* cannot be written: 1000000 bytes are free .*; make room on the disk/,
      );
      engine.write([{ key: 'c', value: Buffer.from('3') }]);
      await expect(engine.flush()).rejects.toMatchObject({ code: 'ENOSPC' });
      await expect(engine.close()).rejects.toThrow(StateError);

      expect(reported).toHaveLength(1);
      expect(await load(root)).toEqual(new Map([['a', '1']]));
    });

    temporary('loses nothing once there is room again', async ({ root }) => {
      const disk = { free: 0 };
      const { engine, recoveries } = await openOn(root, disk);
      engine.write([{ key: 'a', value: Buffer.from('1') }]);
      await expect(engine.flush()).rejects.toThrow(StateError);
      engine.write([
        { key: 'a', value: Buffer.from('2') },
        { key: 'b', value: Buffer.from('3') },
      ]);
      await expect(engine.flush()).rejects.toThrow(StateError);
      disk.free = MOST;

      await engine.flush();
      engine.write([{ key: 'c', value: Buffer.from('4') }]);
      await engine.close();

      expect(recoveries()).toBe(1);
      expect(await load(root)).toEqual(
        new Map([
          ['a', '2'],
          ['b', '3'],
          ['c', '4'],
        ]),
      );
    });

    temporary('is found to have room again when nobody asks', async ({ root }) => {
      const disk = { free: 0 };
      const { engine, reported, recoveries } = await openOn(root, disk);
      engine.write([{ key: 'a', value: Buffer.from('1') }]);
      await vi.waitFor(() => expect(reported).toHaveLength(1));
      disk.free = MOST;

      await vi.waitFor(() => expect(recoveries()).toBe(1), { timeout: 5_000 });

      await engine.close();
      expect(await load(root)).toEqual(new Map([['a', '1']]));
    });
  });
});

/** Starts the writer, kills it once it has reported a batch, and returns the last one reported. */
async function runWriter(directory: string, { stopAt }: { stopAt: number }): Promise<number> {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', 'tsx', WRITER, directory, '100'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let last = -1;
  if (child.stdout === null) throw new Error('no output');
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line);
    if (last >= stopAt) child.kill('SIGKILL');
  }
  return last;
}
