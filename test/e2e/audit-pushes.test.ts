/** The audit log of pushes whose clients are gone before the answer, or whose git service fails. */
import { accessSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { startCutProxy } from '../support/cut-proxy.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { commitFiles, gitIn, manifest } from './clones.ts';

/** Its audit log has every request. */
async function audited(): Promise<Daemon> {
  const first = await startDaemon();
  const config = `${API}/config/platform`;
  const policy = { rules: [{ level: 'Metadata' }] };
  const raw = stringify({ audit: { enabled: true, path: 'all.log', policy } });
  await first.call('PATCH', config, {
    body: { spec: { raw } },
    type: 'application/merge-patch+json',
  });
  await first.stop();
  return first;
}

/** Events of pushes that have ended. */
function pushesOf({ dataDir }: Daemon) {
  return readFileSync(join(dataDir, 'all.log'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('/git-receive-pack') && line.includes('ResponseComplete'))
    .map((line) => JSON.parse(line));
}

test('a push whose git service fails is answered with 500, and recorded', async () => {
  const { dataDir } = await audited();
  const daemon = await startDaemon({ dataDir, seed: undefined });
  const [objects, away] = [join(dataDir, 'repo.git/objects'), join(dataDir, 'repo.git/away')];
  const command = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/main\0 report-status`;
  const body = `${(command.length + 4).toString(16).padStart(4, '0')}${command}0000`;
  const basic = Buffer.from(`admin:${daemon.token}`).toString('base64');
  const push = () =>
    daemon.call('POST', '/git/platform.git/git-receive-pack', {
      body,
      type: 'application/x-git-receive-pack-request',
      headers: { authorization: `Basic ${basic}` },
      token: null,
    });

  renameSync(objects, away);
  try {
    expect(await push()).toMatchObject({
      code: 500,
      text: 'git failed: see the log of the server\n',
    });
  } finally {
    renameSync(away, objects);
  }
  await expect
    .poll(() => pushesOf(daemon))
    .toEqual([expect.objectContaining({ responseStatus: expect.objectContaining({ code: 500 }) })]);
  await expect.poll(() => daemon.output()).toContain('A git service failed');

  // git finds no pack behind the command.
  expect(await push()).toMatchObject({ code: 200, text: expect.stringContaining('unpack ') });
  await daemon.stop();
});

test('a push that landed is recorded with its commits, although its client is gone', async () => {
  const first = await audited();
  const repository = join(first.dataDir, 'repo.git');
  // Git answers the client after this hook.
  const hook = '#!/bin/sh\ntouch landed\nuntil test -e gone; do sleep 0.1; done\n';
  writeFileSync(join(repository, 'hooks/post-receive'), hook, { mode: 0o755 });
  const daemon = await startDaemon({ dataDir: first.dataDir, seed: undefined });
  const clone = await daemon.clone();
  const previous = await gitIn(daemon, clone, 'rev-parse', 'HEAD');
  await commitFiles(daemon, clone, { 'teams/new.yaml': manifest('Team', 'new') });
  const revision = await gitIn(daemon, clone, 'rev-parse', 'HEAD');

  const proxy = await startCutProxy(daemon.port);
  const url = `https://admin:${daemon.token}@127.0.0.1:${proxy.port}/git/platform.git`;
  const pushing = daemon.git(['push', url, 'HEAD:main'], clone);
  await vi.waitFor(() => accessSync(join(repository, 'landed')), 60_000);
  // curl repeats a request on a new connection if the old one broke without a byte of an answer.
  proxy.refusing = true;
  proxy.cut();
  expect((await pushing).code).not.toBe(0);
  writeFileSync(join(repository, 'gone'), '');

  const events = () => pushesOf(daemon).map(({ annotations }) => annotations);
  await expect.poll(events).toEqual([
    expect.objectContaining({
      'gitplane.dev/push-result': 'accepted',
      'gitplane.dev/previous-revision': previous,
      'gitplane.dev/revision': revision,
    }),
  ]);
  expect((await daemon.call('GET', `${API}/teams/new`)).code).toBe(200);
  await proxy.close();
  await daemon.stop();
});

test('an atomic push of which git refuses another ref is recorded as refused', async () => {
  const { dataDir } = await audited();
  const daemon = await startDaemon({ dataDir, seed: undefined });
  const clone = await daemon.clone();
  await gitIn(daemon, clone, 'push', '-q', 'origin', 'HEAD:refs/tags/v1');
  await commitFiles(daemon, clone, { 'teams/new.yaml': manifest('Team', 'new') });

  const refs = ['main', 'HEAD:refs/tags/v1/1'];
  const { code, stderr } = await daemon.git(['push', '--atomic', 'origin', ...refs], clone);
  expect(code).not.toBe(0);
  expect(stderr).toContain("'refs/tags/v1' exists; cannot create 'refs/tags/v1/1'");
  await expect
    .poll(() => pushesOf(daemon).at(-1)?.annotations)
    .toMatchObject({ 'gitplane.dev/push-result': 'refused' });
  expect((await daemon.call('GET', `${API}/teams/new`)).code).toBe(404);
  await daemon.stop();
});
