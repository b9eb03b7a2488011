/** `gitplane diff`: files and another cluster against a platform; nothing is written. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
let daemon: Daemon;
let other: Daemon;

function diff(...args: string[]): Promise<RunResult> {
  const kubeconfig = join(daemon.dataDir, 'kubeconfig');
  return run(process.execPath, [MAIN, 'diff', '--kubeconfig', kubeconfig, ...args], {
    cwd: folder,
    env: { KUBECONFIG: join(other.dataDir, 'kubeconfig') },
  });
}

function file(name: string, kind: string, metadata: object, spec: object): string {
  const object = { apiVersion: 'management.gitplane.dev/v1', kind, metadata, spec };
  writeFileSync(join(folder, name), JSON.stringify(object));
  return name;
}

async function get(from: Daemon, path: string): Promise<{ metadata: object; spec: object }> {
  return (await from.call('GET', `${API}/${path}`)).json();
}

beforeAll(async () => {
  [daemon, other] = await Promise.all([startDaemon(), startDaemon()]);
});
afterAll(async () => {
  await Promise.all([daemon.stop(), other.stop()]);
});

describe('files', () => {
  test('files as the platform has them do not differ, defaults included', async () => {
    const { metadata, spec } = await get(daemon, 'teams/payments');

    expect(await diff(file('same.yaml', 'Team', metadata, spec))).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  test('show each change, and write nothing', async () => {
    const before = (await daemon.call('GET', '/sync')).json().revision;
    mkdirSync(join(folder, 'some'));
    file('some/new.yaml', 'Team', { name: 'bakers' }, { displayName: 'Bakers' });
    file('some/old.yaml', 'Team', { name: 'payments' }, { displayName: 'Other name' });
    const { code, stdout } = await diff('some');

    expect(code).toBe(1);
    expect(stdout).toMatch(/^Team bakers would be created:\n/m);
    expect(stdout).toMatch(/^Team payments would change:\n/m);
    expect(stdout).toMatch(/^ {2}\+ +displayName: Other name$/m);
    expect((await daemon.call('GET', '/sync')).json().revision).toBe(before);
  });

  test('show that a secret value differs, and never the value', async () => {
    const name = file(
      'secret.yaml',
      'SharedSecret',
      { name: 'card-gateway', namespace: 'payments' },
      { data: { password: Buffer.from('hunter2').toString('base64') } },
    );
    const { code, stdout } = await diff(name);

    expect(code).toBe(1);
    expect(stdout).toMatch(/^SharedSecret payments\/card-gateway would change:/);
    expect(stdout).not.toMatch(/hunter2|aHVudGVyMg/);
  });

  test('files that the platform would refuse end with 2 and its message', async () => {
    const name = file('bad.yaml', 'Team', { name: 'bad' }, { displayNmae: 'x' });
    const { code, stderr } = await diff(name);

    expect(code).toBe(2);
    expect(stderr).toMatch(/displayNmae/);
  });

  test.each<[string[], RegExp]>([
    [[], /Name either files to compare, or a cluster/],
    [['x', '--from-context', 'y'], /Name either files to compare, or a cluster/],
    [['nowhere.yaml'], /Cannot read nowhere\.yaml: it does not exist/],
    [['--from-context', 'nobody'], /There is no context "nobody" in/],
  ])('%j ends with 2', async (args, message) => {
    expect(await diff(...args)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  });
});

test('another cluster: changed objects, and objects of one side alone', async () => {
  const body = { metadata: { name: 'over-there' }, spec: { displayName: 'There' } };
  expect((await other.call('POST', `${API}/teams`, { body })).code).toBe(201);
  const here = { ...body, metadata: { name: 'over-here' } };
  expect((await daemon.call('POST', `${API}/teams`, { body: here })).code).toBe(201);
  const { code, stdout } = await diff('--from-context', 'gitplane', '-o', 'json');
  const { differences } = JSON.parse(stdout);
  const teams = differences.filter(({ kind }: { kind: string }) => kind === 'Team');

  expect(code).toBe(1);
  expect(teams).toEqual([
    expect.objectContaining({ name: 'over-there', change: 'created' }),
    expect.objectContaining({ name: 'over-here', change: 'absent' }),
  ]);
  expect((await daemon.call('GET', `${API}/teams/over-there`)).code).toBe(404);
});
