/**
 * Packs that cannot be read: the daemon says so, refuses writes, still answers reads, and goes on
 * by itself once they are back.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, run, scratchDir, startDaemon } from '../support/daemon.ts';

const MAIN = join(import.meta.dirname, '../../dist/main.js');
const PATIENCE = { timeout: 15_000, interval: 100 };
const TEAMS = `${API}/teams`;

const team = (name: string, displayName = name) => ({
  apiVersion: 'management.gitplane.dev/v1',
  kind: 'Team',
  metadata: { name },
  spec: { displayName },
});

/** A stopped data directory: the example in one pack, then writes in another one. */
let used: string;

beforeAll(async () => {
  const daemon = await startDaemon();
  for (let i = 0; i < 12; i++) {
    const body = team(`team-${i}`, `Team number ${i}`);
    expect((await daemon.call('POST', TEAMS, { body })).code).toBe(201);
  }
  await daemon.stop();
  used = daemon.dataDir;
});

function copyOfUsed(): string {
  const dataDir = join(scratchDir(), 'data');
  const filter = (path: string) => !path.endsWith('/run');
  cpSync(used, dataDir, { recursive: true, preserveTimestamps: true, filter });
  return dataDir;
}

/** The newest has the tip; the oldest has what the tip still names. */
type Age = 'newest' | 'oldest';

function packOf(dataDir: string, which: Age): string {
  const folder = join(dataDir, 'repo.git/objects/pack');
  const packs = readdirSync(folder).filter((name) => name.endsWith('.pack'));
  const age = (name: string) => statSync(join(folder, name)).mtimeMs;
  const sorted = packs.toSorted((one, other) => age(other) - age(one));
  expect(sorted.length).toBeGreaterThan(1);
  return join(folder, sorted.at(which === 'newest' ? 0 : -1) ?? '');
}

const DAMAGES: Readonly<Record<string, (pack: string) => void>> = {
  'cut in half': (pack) => truncateSync(pack, Math.floor(statSync(pack).size / 2)),
  removed: (pack) => rmSync(pack),
  'removed with its index': (pack) => {
    rmSync(pack);
    rmSync(pack.replace(/pack$/, 'idx'));
  },
  'flipped in its middle': (pack) => {
    const bytes = readFileSync(pack);
    const middle = Math.floor(bytes.length / 2);
    for (let i = middle; i < middle + 16; i++) bytes[i] = (bytes[i] ?? 0) ^ 0xff;
    writeFileSync(pack, bytes);
  },
};

/** Damages a pack in place; the result puts it back. */
function harm(dataDir: string, how: string, which: Age = 'newest'): () => void {
  const pack = packOf(dataDir, which);
  const index = pack.replace(/pack$/, 'idx');
  const away = scratchDir();
  for (const file of [pack, index])
    copyFileSync(file, join(away, file.endsWith('idx') ? 'i' : 'p'));
  chmodSync(pack, 0o644);
  DAMAGES[how]?.(pack);
  return () => {
    for (const [kept, file] of [
      ['i', index],
      ['p', pack],
    ] as const) {
      copyFileSync(join(away, kept), `${file}.new`);
      renameSync(`${file}.new`, file);
    }
  };
}

async function stopAfter(daemon: Daemon, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    await daemon.stop();
  }
}

async function expectDamaged(daemon: Daemon): Promise<void> {
  const probe = async () => (await daemon.call('GET', '/readyz')).text;
  const failed = /\[-\]repository-objects failed: .*cannot be read/;
  await vi.waitFor(async () => expect(await probe()).toMatch(failed), PATIENCE);
  // The packs may be found damaged before the tip is.
  const metrics = async () => (await daemon.call('GET', '/metrics')).text;
  const damaged = /^gitplane_repository_damaged\{part="tip"\} 1$/m;
  await vi.waitFor(async () => expect(await metrics()).toMatch(damaged), PATIENCE);
  const write = await daemon.call('POST', TEAMS, { body: team('late') });
  expect(write.code).toBe(503);
  expect(write.json().message).toMatch(/cannot be read.*restore/i);
  await vi.waitFor(() => expect(daemon.output()).toMatch(/"level":"error".*"remedy":/));
  expect((await daemon.call('GET', `${TEAMS}/team-11`)).code).toBe(200);
}

async function expectHealed(daemon: Daemon): Promise<void> {
  const probe = async () => (await daemon.call('GET', '/readyz')).code;
  await vi.waitFor(async () => expect(await probe()).toBe(200), PATIENCE);
  const metrics = (await daemon.call('GET', '/metrics')).text;
  expect(metrics).toMatch(/^gitplane_repository_damaged\{part="tip"\} 0$/m);
  const write = await daemon.call('POST', TEAMS, { body: team('late') });
  expect(write.code).toBe(201);
}

describe.each(Object.keys(DAMAGES))('a pack %s', (how) => {
  test.concurrent('makes a running daemon unready: writes are refused, reads answered, and the repair heals it', async () => {
    const dataDir = copyOfUsed();
    const daemon = await startDaemon({ dataDir });
    await stopAfter(daemon, async () => {
      const restore = harm(dataDir, how);
      await expectDamaged(daemon);
      restore();
      await expectHealed(daemon);
    });
  });

  test.concurrent('makes a warm start with an intact tip unready', async () => {
    const dataDir = copyOfUsed();
    const restore = harm(dataDir, how, 'oldest');
    const daemon = await startDaemon({ dataDir });
    await stopAfter(daemon, async () => {
      await expectDamaged(daemon);
      restore();
      await expectHealed(daemon);
    });
  });

  test.concurrent('ends a start without the state directory with the remedy in one line', async () => {
    const dataDir = copyOfUsed();
    const restore = harm(dataDir, how);
    rmSync(join(dataDir, 'state'), { recursive: true });
    const args = [MAIN, 'serve', '--data-dir', dataDir, '--listen', '127.0.0.1:0'];
    const { code, stderr } = await run(process.execPath, args, { cwd: scratchDir() });
    expect(code).toBe(1);
    const words = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    expect(words).toHaveLength(1);
    expect(words[0]).toMatch(/^gitplane: The repository is damaged: .*repo\.git.*restore/i);
    restore();
    const daemon = await startDaemon({ dataDir });
    await stopAfter(daemon, () => expectHealed(daemon));
  });
});
