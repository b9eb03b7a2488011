import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
});

afterAll(async () => {
  await daemon.stop();
});

test('a push is visible once git reports it as done, and a patch changes exactly one line', async () => {
  const clone = await daemon.clone();
  const file = join(clone, 'teams/payments.yaml');
  const before = await readFile(file, 'utf8');
  await writeFile(
    file,
    before.replace('displayName: Payments', 'displayName: Payments team # loud'),
  );
  await daemon.git(['commit', '-qam', 'Rename the team'], clone);

  const push = await daemon.git(['push'], clone);
  expect(push.stderr).toContain('accepted: 0 created, 1 changed, 0 removed');
  const read = await daemon.call('GET', `${API}/teams/payments`);
  expect(read.json().spec.displayName).toBe('Payments team');

  const patch = [{ op: 'replace', path: '/spec/displayName', value: 'Payments crew' }];
  const patched = await daemon.call('PATCH', `${API}/teams/payments`, {
    body: patch,
    type: 'application/json-patch+json',
  });
  expect(patched.code).toBe(200);
  await daemon.git(['pull', '-q'], clone);
  const diff = await daemon.git(['diff', '--stat', 'HEAD~1'], clone);
  expect(diff.stdout).toContain('1 file changed, 1 insertion(+), 1 deletion(-)');
  expect(await readFile(file, 'utf8')).toContain('displayName: Payments crew # loud\n');
  const log = await daemon.git(['log', '-1', '--format=%an|%s'], clone);
  expect(log.stdout.trim()).toBe('admin|patch Team "payments"');
});
