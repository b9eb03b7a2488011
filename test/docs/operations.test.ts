/** What docs/operations.md says about losing and restoring things, done as it says. */
import { existsSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { type Step, stepsOf } from './markdown.ts';
import { runStep } from './page.ts';
import { openShell } from './shell.ts';

const PAGE = 'docs/operations.md';
const steps = stepsOf(PAGE);

function stepNamed(name: string): Step {
  const step = steps.find(({ words }) => words.includes(name));
  if (step === undefined) throw new Error(`${PAGE} has no block "${name}"`);
  return step;
}

/** One data directory, which goes through everything that the page says, in its order. */
let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
  await daemon.call('POST', `${API}/teams`, { body: team });
});
afterAll(() => daemon.stop());

/** Starts again on what is left. */
async function start(): Promise<void> {
  daemon = await startDaemon({ dataDir: daemon.dataDir, seed: undefined });
}

/** Runs blocks of the page in the folder of the data directory. */
async function follow(daemon: Daemon, ...names: readonly string[]): Promise<void> {
  const shell = openShell(daemon);
  try {
    for (const name of names) await runStep(shell, stepNamed(name));
  } finally {
    shell.close();
  }
}

/** What must read the same whatever was lost but the repository. */
async function identities(daemon: Daemon): Promise<unknown> {
  const collections = ['teams', 'users', 'sharedsecrets', 'config', 'ownedaccesskeys'];
  const paths = [...collections.map((name) => `${API}/${name}`), `${RBAC}/roles`];
  const lists = await Promise.all(paths.map((path) => daemon.call('GET', path)));
  return lists.flatMap((list) =>
    list.json().items.map((item: { metadata: Record<string, unknown>; spec: unknown }) => {
      const { name, namespace, uid, generation, creationTimestamp } = item.metadata;
      return { name, namespace, uid, generation, creationTimestamp, spec: item.spec };
    }),
  );
}

const team = { metadata: { name: 'late' }, spec: { displayName: 'Made before the loss' } };

describe('statements of operations.md', () => {
  test('the readiness check answers as shown', async () => {
    await follow(daemon, 'health');
  });

  test('a suspension is shown, and ends with resume', async () => {
    await follow(daemon, 'suspend', 'resume');
  });

  test('a backup is sound, and restores every object with its identity', async () => {
    const { token } = daemon;
    const before = await identities(daemon);
    await follow(daemon, 'backup', 'check');
    await daemon.stop();
    await follow(daemon, 'restore');

    await start();
    expect(await identities(daemon)).toEqual(before);
    expect(daemon.token).toBe(token);
    expect((await daemon.call('GET', `${API}/teams/late`)).code).toBe(200);
  });

  test('a copy of the whole directory also keeps versions and what only the state knows', async () => {
    const path = `${API}/teams/late`;
    const before = (await daemon.call('GET', path)).json();
    await daemon.stop();
    await follow(daemon, 'backup-stopped', 'restore-stopped');

    await start();
    expect((await daemon.call('GET', path)).json()).toEqual(before);
  });

  test('a clone restores a lost repository', async () => {
    const before = await identities(daemon);
    const clone = await daemon.clone();
    await daemon.stop();
    const shell = openShell(daemon);
    renameSync(clone, shell.translate('/tmp/platform'));
    await runStep(shell, stepNamed('restore-from-clone'));
    shell.close();

    await start();
    expect(await identities(daemon)).toEqual(before);
    const body = { metadata: { name: 'later' }, spec: {} };
    expect((await daemon.call('POST', `${API}/teams`, { body })).code).toBe(201);
    expect(existsSync(join(daemon.dataDir, 'repo.git/hooks/pre-receive'))).toBe(true);
  });

  test('state that is gone is rebuilt, with higher resource versions', async () => {
    const before = await identities(daemon);
    const { resourceVersion } = (await daemon.call('GET', `${API}/teams`)).json().metadata;
    await daemon.stop();
    await follow(daemon, 'remove-state');

    await start();
    expect(await identities(daemon)).toEqual(before);
    const after = (await daemon.call('GET', `${API}/teams`)).json().metadata.resourceVersion;
    expect(Number(after)).toBeGreaterThan(Number(resourceVersion));
  });

  test('state without its key is refused in one line that names the remedy', async () => {
    await daemon.stop();
    const key = join(daemon.dataDir, 'state.key');
    renameSync(key, join(dirname(daemon.dataDir), 'state.key'));

    await expect(start()).rejects.toThrow(
      /ended with 1:\ngitplane: the state in \S+ cannot be read: .*; delete it, it is rebuilt from git\n$/,
    );
    await follow(daemon, 'remove-state');
    await start();
    expect((await daemon.call('GET', `${API}/teams`)).code).toBe(200);
  });

  test('a start without the token file makes a new administrator key and ends the old one', async () => {
    const { token } = daemon;
    await daemon.stop();
    await follow(daemon, 'remove-token');

    await start();
    expect(daemon.token).not.toBe(token);
    expect((await daemon.call('GET', `${API}/teams`)).code).toBe(200);
    expect((await daemon.call('GET', `${API}/teams`, { token })).code).toBe(401);
  });

  test('every block of the page is run by one of these tests', () => {
    const names = ['health', 'backup', 'check', 'restore', 'restore-from-clone', 'backup-stopped'];
    const known = [
      ...names,
      'restore-stopped',
      'remove-state',
      'remove-token',
      'suspend',
      'resume',
    ];

    expect(steps.filter(({ words }) => !words.some((word) => known.includes(word)))).toEqual([]);
  });
});
