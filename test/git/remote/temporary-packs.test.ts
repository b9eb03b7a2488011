/** Temporary packs after a fetch that failed, beside another process that writes a pack. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { GitProcess } from '../../../src/git/process/git-process.ts';
import { parseRemoteAddress } from '../../../src/git/remote/address.ts';
import { Remote } from '../../../src/git/remote/remote.ts';
import { gitEnv } from '../../support/git.ts';
import { elsewhere, follow } from '../../support/remote.ts';

test('a failed fetch leaves the pack that another process writes, and removes others', async () => {
  const there = elsewhere();
  const { gitDir } = await follow({ url: there.gitDir });
  there.commit({ more: '2' });
  const args = ['pack-objects', '--all', '--stdout', '-q'];
  const pack = execFileSync('git', args, { cwd: there.gitDir, env: gitEnv });
  const folder = join(gitDir, 'objects/pack');
  let writer: GitProcess | undefined;
  const server = createServer(async (_request, response) => {
    if (writer === undefined) {
      writer = new GitProcess({ gitDir }, ['index-pack', '--stdin']);
      writer.stdin.write(pack.subarray(0, 20));
      const isWriting = () => readdirSync(folder).some((name) => name.startsWith('tmp_pack_'));
      await vi.waitFor(() => expect(isWriting()).toBe(true));
    }
    response.writeHead(500).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const address = parseRemoteAddress(`http://127.0.0.1:${port}/elsewhere.git`);
  const ref = 'refs/heads/main';
  const remote = new Remote({ address, access: {}, gitDir, ref, trackingRef: 'refs/gitplane/x' });

  await expect(remote.fetch(false)).rejects.toMatchObject({ problem: 'unreachable' });
  writer?.stdin.end(pack.subarray(20));
  expect(await writer?.ended).toMatchObject({ code: 0 });

  const left = join(folder, 'tmp_pack_left');
  writeFileSync(left, 'PACK');
  await expect(remote.fetch(false)).rejects.toMatchObject({ problem: 'unreachable' });
  expect(existsSync(left)).toBe(false);
});
