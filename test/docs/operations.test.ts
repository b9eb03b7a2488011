/** What docs/operations.md says about losing and restoring things, done as it says. */
import { existsSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
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

const running: Daemon[] = [];

async function start(dataDir?: string): Promise<Daemon> {
  const daemon = await startDaemon(dataDir === undefined ? {} : { dataDir, seed: undefined });
  running.push(daemon);
  return daemon;
}

afterEach(async () => {
  for (const daemon of running.splice(0)) await daemon.stop();
});

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

describe('what operations.md says', () => {
  test('the readiness check answers as shown', async () => {
    await follow(await start(), 'health');
  });

  test('a backup is sound, and restores every object with its identity', async () => {
    const daemon = await start();
    await daemon.call('POST', `${API}/teams`, { body: team });
    const before = await identities(daemon);
    await follow(daemon, 'backup', 'check');
    await daemon.stop();
    await follow(daemon, 'restore');

    const restored = await start(daemon.dataDir);
    expect(await identities(restored)).toEqual(before);
    expect(restored.token).toBe(daemon.token);
    expect((await restored.call('GET', `${API}/teams/late`)).code).toBe(200);
  });

  test('a clone restores a lost repository', async () => {
    const daemon = await start();
    const before = await identities(daemon);
    const clone = await daemon.clone();
    await daemon.stop();
    const shell = openShell(daemon);
    renameSync(clone, shell.translate('/tmp/platform'));
    await runStep(shell, stepNamed('restore-from-clone'));
    shell.close();

    const restored = await start(daemon.dataDir);
    expect(await identities(restored)).toEqual(before);
    const written = await restored.call('POST', `${API}/teams`, { body: team });
    expect(written.code).toBe(201);
    expect(existsSync(join(restored.dataDir, 'repo.git/hooks/pre-receive'))).toBe(true);
  });

  test('state that is gone is rebuilt, with higher resource versions', async () => {
    const daemon = await start();
    const before = await identities(daemon);
    const { resourceVersion } = (await daemon.call('GET', `${API}/teams`)).json().metadata;
    await daemon.stop();
    await follow(daemon, 'remove-state');

    const restarted = await start(daemon.dataDir);
    expect(await identities(restarted)).toEqual(before);
    const after = (await restarted.call('GET', `${API}/teams`)).json().metadata.resourceVersion;
    expect(Number(after)).toBeGreaterThan(Number(resourceVersion));
  });

  test('state without its key is refused in one line that says what to do', async () => {
    const daemon = await start();
    await daemon.stop();
    const key = join(daemon.dataDir, 'state.key');
    renameSync(key, join(dirname(daemon.dataDir), 'state.key'));

    await expect(start(daemon.dataDir)).rejects.toThrow(
      /ended with 1:\ngitplane: the state in \S+ cannot be read: .*; delete it, it is rebuilt from git\n$/,
    );
    await follow(daemon, 'remove-state');
    expect((await (await start(daemon.dataDir)).call('GET', `${API}/teams`)).code).toBe(200);
  });

  test('without the token file a new administrator key is made and the old one ends', async () => {
    const daemon = await start();
    await daemon.stop();
    await follow(daemon, 'remove-token');

    const restarted = await start(daemon.dataDir);
    expect(restarted.token).not.toBe(daemon.token);
    expect((await restarted.call('GET', `${API}/teams`)).code).toBe(200);
    const old = await restarted.call('GET', `${API}/teams`, { token: daemon.token });
    expect(old.code).toBe(401);
  });

  test('every block of the page is run by one of these tests', () => {
    const names = ['health', 'backup', 'check', 'restore', 'restore-from-clone'];
    const known = [...names, 'remove-state', 'remove-token'];

    expect(steps.filter(({ words }) => !words.some((word) => known.includes(word)))).toEqual([]);
  });
});
