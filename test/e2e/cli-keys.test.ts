/** `gitplane keys` and `gitplane kubeconfig` against the daemon, as an administrator uses them. */
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, scratchDir, startDaemon } from '../support/daemon.ts';

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

function gitplane(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const env = { ...process.env, KUBECONFIG: join(daemon.dataDir, 'kubeconfig') };
  return spawnSync(process.execPath, ['dist/main.js', ...args], { env, encoding: 'utf8' });
}

async function codeWith(token: string): Promise<number> {
  return (await daemon.call('GET', `${API}/users/ada`, { token })).code;
}

describe('gitplane keys', () => {
  test('creates, lists, rotates and revokes a key', async () => {
    const created = gitplane('keys', 'create', 'robot', '--user', 'ada', '--ttl', '30d');
    expect([created.status, created.stderr]).toEqual([0, '']);
    const first = created.stdout.trim();
    expect(first).toMatch(/^gpu_[0-9A-Za-z]{44}$/);
    const code = await codeWith(first);
    expect(code).not.toBe(401);

    expect(gitplane('keys', 'list').stdout).toMatch(/^robot +user ada +no +30d +/m);

    const second = gitplane('keys', 'rotate', 'robot').stdout.trim();
    expect(second).not.toBe(first);
    expect([await codeWith(first), await codeWith(second)]).toEqual([401, code]);

    expect(gitplane('keys', 'revoke', 'robot').stdout).toBe('access key "robot" revoked\n');
    expect(await codeWith(second)).toBe(401);
  });

  test.each<[string[], number, RegExp]>([
    [['keys', 'create'], 2, /either --user NAME or --team NAME/],
    [['keys', 'create', '--user', 'a', '--team', 'b'], 2, /either --user NAME or --team NAME/],
    [['keys', 'create', '--user', 'ada', '--ttl', 'soon'], 2, /as in 12h or 30d/],
    [['keys', 'create', '--user', 'nobody'], 2, /no user "nobody".*kubectl get users/],
    [['keys', 'create', '--team', 'nobody'], 2, /no team "nobody".*kubectl get teams/],
    [['kubeconfig', '--user', 'nobody'], 2, /no user "nobody".*kubectl get users/],
    [['keys', 'rotate'], 2, /rotate NAME/],
    [['keys', 'shout'], 2, /Unknown action "shout": use create, list, rotate or revoke/],
    [['keys', 'revoke', 'nobody'], 1, /"nobody" not found \(404, https:/],
    [['keys', 'list', '--kubeconfig', '/nowhere'], 2, /There is no kubeconfig at \/nowhere/],
  ])('%j ends with %i and one line that helps', (args, status, line) => {
    const ended = gitplane(...args);
    expect(ended.status).toBe(status);
    expect(ended.stderr).toMatch(line);
    expect(ended.stderr.trim().split('\n')).toHaveLength(1);
  });
});

/** The last use of a key is told some time later. */
function namesOf({ stdout }: { readonly stdout: string }): string[] {
  return stdout.split('\n').map((line) => line.split(' ')[0] ?? '');
}

test('gitplane keys makes no key without a user', () => {
  const before = namesOf(gitplane('keys', 'list'));
  expect(gitplane('keys', 'create', 'lost', '--user', 'nobody').stdout).toBe('');
  expect(namesOf(gitplane('keys', 'list'))).toEqual(before);
});

test('gitplane kubeconfig makes a file that works, for its owner alone', () => {
  const file = join(scratchDir(), 'ada.kubeconfig');
  expect(gitplane('kubeconfig', '--user', 'ada', '--file', file).status).toBe(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).toContain('current-context: gitplane');

  const listed = gitplane('keys', 'list', '--kubeconfig', file);
  expect([listed.status, listed.stderr]).toEqual([0, '']);
  const again = gitplane('kubeconfig', '--user', 'ada', '--file', file);
  expect([again.status, again.stderr]).toEqual([2, expect.stringContaining('it exists already')]);
  expect(namesOf(gitplane('keys', 'list'))).toEqual(namesOf(listed));
});
