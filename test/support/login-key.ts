/** A key as sign-in makes it, pushed by path: through the API nobody can write one. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import {
  accessKeyPrefix,
  concealAccessKey,
  mintAccessKey,
} from '../../src/kinds/credentials/access-key.ts';
import { type Daemon, scratchDir } from './daemon.ts';
import { object } from './guarded-platform.ts';

/** The text of the new key. */
export async function loginKey(daemon: Daemon, user: string): Promise<string> {
  const token = mintAccessKey(accessKeyPrefix('Login'));
  const name = `login-${concealAccessKey(token).slice(-8)}`;
  const spec = { user, type: 'Login', key: concealAccessKey(token) };
  const folder = join(scratchDir('gitplane-login-'), 'platform');
  const git = async (args: readonly string[], cwd = folder): Promise<void> => {
    const { code, stderr } = await daemon.git(args, cwd);
    if (code !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`);
  };
  await git(['clone', '-q', `file://${join(daemon.dataDir, 'repo.git')}`, folder], daemon.dataDir);
  await writeFile(
    join(folder, `${name}.yaml`),
    JSON.stringify(object('OwnedAccessKey', name, { spec })),
  );
  await git(['add', '.']);
  await git(['commit', '-qm', `A login of ${user}`]);
  await git(['push', '-q', 'origin', 'HEAD:main']);
  // The daemon may read a push by path after git has ended.
  await vi.waitFor(async () => {
    expect((await daemon.call('GET', '/apis', { token })).code).not.toBe(401);
  });
  return token;
}
