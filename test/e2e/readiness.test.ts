/** Health of objects from git: the column of kubectl, `kubectl wait`, and clones of a wrong name. */
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, findKubectl, startDaemon } from '../support/daemon.ts';
import { collectionPath, NAMESPACE, objectOf, SAMPLES } from './samples.ts';

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

/** Moves the branch past the hook, as an operator of the disk can. */
async function bypass(files: Readonly<Record<string, string>>): Promise<void> {
  const clone = await daemon.clone();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(clone, path)), { recursive: true });
    await writeFile(join(clone, path), text);
  }
  for (const args of [
    ['add', '-A'],
    ['commit', '-qm', 'Change'],
  ]) {
    expect((await daemon.git(args, clone)).code).toBe(0);
  }
  const repository = join(daemon.dataDir, 'repo.git');
  const to = ['-c', 'core.hooksPath=/dev/null', '-c', `safe.directory=${clone}`, 'fetch', '-q'];
  const { code, stderr } = await daemon.git(
    ['--git-dir', repository, ...to, clone, '+main:main'],
    clone,
  );
  expect(code, stderr).toBe(0);
}

function team(name: string, spec: string): string {
  return `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: ${name}\nspec: ${spec}\n`;
}

describe.skipIf(findKubectl('1.32') === undefined)('kubectl', () => {
  test.each(SAMPLES)('waits until a $kind is ready, and shows it', async (sample) => {
    const body = objectOf(sample, 'sample-ready');
    const made = await daemon.call('POST', collectionPath(sample, API), { body });
    expect(made.code, made.text).toBe(201);
    const path = `${collectionPath(sample, API)}/sample-ready`;
    const { status } = (await daemon.call('GET', path)).json();
    const place = sample.namespaced ? ['-n', NAMESPACE] : [];
    const object = `${sample.resource}/sample-ready`;
    const wide = await daemon.kubectl(['get', object, ...place, '-o', 'wide']);
    expect(wide.stdout).toContain('HEALTH');
    expect(wide.stdout).toContain('Ready');
    // As in Kubernetes, roles and bindings have no status.
    if (status === undefined) return;
    // Another Config is in force.
    const [value, word] = sample.kind === 'Config' ? ['False', 'NotReady'] : ['True', 'Ready'];
    const wait = ['wait', `--for=condition=Ready=${value}`, object, ...place, '--timeout=20s'];
    expect((await daemon.kubectl(wait)).stdout).toMatch(/sample-ready condition met\n$/);
    expect((await daemon.kubectl(['get', object, ...place])).stdout).toMatch(
      new RegExp(`HEALTH.*\\n.* ${word} `),
    );
  });

  test('a team whose newest manifest is invalid is degraded and not ready, and recovers', async () => {
    await bypass({ 'teams/zz-sick.yaml': team('zz-sick', '{ displayName: Good }') });
    const wait = (value: string): ReturnType<Daemon['kubectl']> =>
      daemon.kubectl(['wait', `--for=condition=Ready=${value}`, 'team/zz-sick', '--timeout=30s']);
    await expect
      .poll(async () => (await daemon.call('GET', `${API}/teams/zz-sick`)).code)
      .toBe(200);
    expect((await wait('True')).code).toBe(0);
    await bypass({ 'teams/zz-sick.yaml': team('zz-sick', '{ displayNam: Bad }') });
    expect((await wait('False')).code).toBe(0);
    const { stdout } = await daemon.kubectl(['get', 'teams']);
    expect(stdout).toMatch(/^zz-sick .* Degraded +\S+$/m);
    expect(stdout).toMatch(/^payments .* Ready +\S+$/m);
    const { status, spec } = (await daemon.call('GET', `${API}/teams/zz-sick`)).json();
    expect(spec).toEqual({ displayName: 'Good' });
    const [degraded, ready] = status.conditions;
    expect(degraded).toMatchObject({ type: 'Degraded', status: 'True' });
    const { reason, message, lastTransitionTime } = degraded;
    expect(ready).toMatchObject({ type: 'Ready', status: 'False', reason, message });
    expect(ready.lastTransitionTime).toBe(lastTransitionTime);
    // The same in lists and in tables with whole objects, whose bytes have other sources.
    const { items } = (await daemon.call('GET', `${API}/teams`)).json();
    for (const item of items) expect(item.status.conditions.at(-1).type).toBe('Ready');
    await bypass({ 'teams/zz-sick.yaml': team('zz-sick', '{ displayName: Better }') });
    expect((await wait('True')).code).toBe(0);
  });
});

test.each([
  ['an administrator', undefined, 404, 'There is no such repository here'],
  ['a stranger', null, 401, ''],
])('%s that clones a missing repository', async (_who, token, code, text) => {
  const headers = {
    authorization: `Basic ${Buffer.from(`x:${daemon.token}`).toString('base64')}`,
  };
  const path = '/git/platfrom.git/info/refs?service=git-upload-pack';
  const answer = await daemon.call('GET', path, {
    token: null,
    ...(token === undefined ? { headers } : {}),
  });
  expect([answer.code, answer.text]).toEqual([code, expect.stringContaining(text)]);
  expect(answer.text.includes('/git/platform.git')).toBe(code === 404);
});

test('git shows the address of the repository to a user who may read it', async () => {
  const wrong = `${daemon.url.replace('//', `//admin:${daemon.token}@`)}/git/wrong.git`;
  const { code, stderr } = await daemon.git(['clone', wrong, 'x'], tmpdir());
  expect(code).not.toBe(0);
  expect(stderr).toMatch(
    /^remote: There is no such repository here: the platform is at https:\S+\/git\/platform\.git/m,
  );
});
