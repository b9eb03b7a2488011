/** A backup of a busy daemon, restored in another folder: nothing that was acknowledged before it is missing. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeArchive } from '../../src/daemon/backup/archive.ts';
import { manifestOf } from '../../src/daemon/backup/backup-manifest.ts';
import {
  API,
  type Daemon,
  type RunResult,
  run,
  scratchDir,
  startDaemon,
} from '../support/daemon.ts';

const MAIN = join(import.meta.dirname, '../../dist/main.js');

const folder = scratchDir();
const keyFile = join(folder, 'backup.key');
const backupFile = join(folder, 'platform.backup');
const restored = join(folder, 'restored');

let daemon: Daemon;
let recipient: string;
/** Objects before the backup began. */
let before: Listed;
/** Greatest resourceVersion that was served until the daemon stopped. */
let newest: number;

type Listed = Map<string, { metadata: Record<string, unknown>; spec: unknown }>;

const KINDS = ['teams', 'users', 'sharedsecrets', 'ownedaccesskeys', 'config'];

async function listed(from: Daemon): Promise<{ objects: Listed; version: number }> {
  const objects: Listed = new Map();
  let version = 0;
  for (const kind of KINDS) {
    const list = (await from.call('GET', `${API}/${kind}`)).json();
    version = Math.max(version, Number(list.metadata.resourceVersion));
    for (const { metadata, spec } of list.items) {
      const { uid, name, namespace, creationTimestamp, generation, labels, annotations } = metadata;
      const facts = { uid, creationTimestamp, generation, labels, annotations };
      objects.set(`${kind}/${namespace}/${name}`, { metadata: facts, spec });
    }
  }
  return { objects, version };
}

function gitplane(...args: string[]): Promise<RunResult> {
  return run(process.execPath, [MAIN, ...args], { cwd: folder });
}

async function createTeam(name: string): Promise<number> {
  const body = { metadata: { name }, spec: { displayName: name } };
  return (await daemon.call('POST', `${API}/teams`, { body })).code;
}

beforeAll(async () => {
  const identity = await generateX25519Identity();
  recipient = await identityToRecipient(identity);
  writeFileSync(keyFile, `${identity}\n`);
  daemon = await startDaemon();
  for (let i = 0; i < 20; i++) expect(await createTeam(`before-${i}`)).toBe(201);
  before = (await listed(daemon)).objects;
  let busy = true;
  let written = 0;
  const writing = (async () => {
    while (busy) expect(await createTeam(`during-${written++}`)).toBe(201);
  })();
  const made = await gitplane(
    'backup',
    '--data-dir',
    daemon.dataDir,
    '--recipient',
    recipient,
    backupFile,
  );
  busy = false;
  await writing;
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(made.stdout).toMatch(/platform\.backup: \d+ KiB, main at [0-9a-f]{40}\n/);
  expect(written).toBeGreaterThan(0);
  newest = (await listed(daemon)).version;
});

afterAll(async () => {
  await daemon.stop();
});

describe('a backup', () => {
  test('is for its owner, is encrypted, and leaves nothing behind', () => {
    expect(statSync(backupFile).mode & 0o777).toBe(0o600);
    expect(readFileSync(backupFile, 'latin1')).toMatch(/^age-encryption\.org\/v1\n/);
    const token = readFileSync(join(daemon.dataDir, 'admin.token'), 'latin1').trim();
    expect(readFileSync(backupFile, 'latin1')).not.toContain(token);
    expect(readdirSync(daemon.dataDir).filter((name) => name.startsWith('backup'))).toEqual([]);
  });

  test.each<[string, () => string[], RegExp]>([
    [
      'without a recipient',
      () => ['x.backup'],
      /Name the recipient that can open the backup: --recipient/,
    ],
    [
      'for a wrong recipient',
      () => ['--recipient', 'bob', 'x.backup'],
      /--recipient "bob": write an age/,
    ],
    ['over a file', () => ['--recipient', recipient, backupFile], /it exists already/],
    [
      'of a folder that is not a data directory',
      () => ['--recipient', recipient, '--data-dir', folder, 'x.backup'],
      /is not a data directory/,
    ],
  ])('%s is refused', async (_name, args, message) => {
    const result = await gitplane('backup', '--data-dir', daemon.dataDir, ...args());

    expect(result).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
    expect(existsSync(join(folder, 'x.backup'))).toBe(false);
  });
});

describe('a restore', () => {
  test('is a platform with every object as it was, secrets open, and versions that go on', async () => {
    const result = await gitplane(
      'restore',
      '--age-key-file',
      keyFile,
      '--data-dir',
      restored,
      backupFile,
    );
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const gitDir = join(restored, 'repo.git');
    expect(await run('git', ['-C', gitDir, 'fsck', '--full', '--strict'])).toMatchObject({
      code: 0,
    });

    const second = await startDaemon({ dataDir: restored, seed: undefined });
    try {
      const { objects, version } = await listed(second);
      for (const [name, object] of before)
        expect({ name, ...objects.get(name) }).toEqual({ name, ...object });
      expect(version).toBeGreaterThan(newest);
      expect(second.token).toBe(daemon.token);
      const secret = `${API}/namespaces/payments/sharedsecrets/card-gateway`;
      const open = (await second.call('GET', secret)).json().spec.data;
      expect(open).toEqual((await daemon.call('GET', secret)).json().spec.data);
      expect((await second.call('GET', '/readyz')).code).toBe(200);
    } finally {
      await second.stop();
    }
  });

  test('into a directory that is not empty is refused, and changes nothing', async () => {
    const full = join(folder, 'full');
    mkdirSync(full);
    writeFileSync(join(full, 'x'), '');
    const result = await gitplane(
      'restore',
      '--age-key-file',
      keyFile,
      '--data-dir',
      full,
      backupFile,
    );

    expect(result).toMatchObject({ code: 2, stderr: expect.stringMatching(/full is not empty/) });
    expect(readdirSync(full)).toEqual(['x']);
  });

  test.each<[string, (file: string) => Promise<void> | void, RegExp]>([
    [
      'of another file',
      (file) => writeFileSync(file, 'x'.repeat(99)),
      /not a backup for these identities/,
    ],
    [
      'of a file with a folder repo.git, whose hooks git would run',
      async (file) => {
        const source = scratchDir();
        const hooks = join(source, 'data', 'repo.git', 'hooks');
        mkdirSync(hooks, { recursive: true });
        const script = `#!/bin/sh\ntouch ${join(folder, 'never-run')}\n`;
        writeFileSync(join(hooks, 'reference-transaction'), script, { mode: 0o755 });
        cpSync(join(daemon.dataDir, 'repo.git'), join(source, 'data', 'repo.git'), {
          recursive: true,
          filter: (path) => !path.endsWith('hooks'),
        });
        const bundle = ['bundle', 'create', '-q', join(source, 'repository.bundle'), '--all'];
        const gitDir = join(source, 'data', 'repo.git');
        expect(await run('git', ['-C', gitDir, ...bundle])).toMatchObject({ code: 0 });
        const { stdout } = await run('git', ['-C', gitDir, 'rev-parse', 'main']);
        const facts = { version: '1', time: '2026-01-01T00:00:00Z', branch: 'main' };
        const manifest = await manifestOf(source, { ...facts, commit: stdout.trim() });
        writeFileSync(join(source, 'backup.json'), JSON.stringify(manifest));
        await writeArchive(file, { folder: source, recipients: [recipient] });
      },
      /contains a folder repo\.git, whose hooks/,
    ],
    [
      'of a file that was cut',
      (file) => writeFileSync(file, readFileSync(backupFile).subarray(0, -100_000)),
      /./,
    ],
    [
      'of a file with a changed byte',
      (file) => {
        cpSync(backupFile, file);
        const bytes = readFileSync(file);
        bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
        writeFileSync(file, bytes);
      },
      /./,
    ],
  ])('%s fails, and makes no directory', async (_name, make, message) => {
    const file = join(folder, `${Math.random()}.backup`);
    await make(file);
    const target = join(folder, 'never');
    const result = await gitplane('restore', '--age-key-file', keyFile, '--data-dir', target, file);

    expect(result).toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
    expect(result.stderr).not.toMatch(/\n\s+at /);
    expect(readdirSync(folder).filter((name) => name.startsWith('never'))).toEqual([]);
  });

  test('a restore with another identity is refused', async () => {
    const other = join(folder, 'other.key');
    writeFileSync(other, `${await generateX25519Identity()}\n`);
    const target = join(folder, 'never');
    const result = await gitplane(
      'restore',
      '--age-key-file',
      other,
      '--data-dir',
      target,
      backupFile,
    );

    expect(result).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/name the identity of a rec/),
    });
  });
});
