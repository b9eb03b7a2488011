/** `npm start` and its kin on a checkout that is not installed. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/git.ts';

test('installs nothing through a link, which would empty the folder of another checkout', () => {
  const [other, here] = [temporaryFolder(), temporaryFolder()];
  writeFileSync(join(other, 'kept'), '');
  mkdirSync(join(here, 'scripts'));
  copyFileSync(join(import.meta.dirname, '../../scripts/run.mjs'), join(here, 'scripts/run.mjs'));
  writeFileSync(join(here, 'package-lock.json'), '{}');
  symlinkSync(other, join(here, 'node_modules'));

  const { status, stderr } = spawnSync(process.execPath, [join(here, 'scripts/run.mjs'), 'test'], {
    encoding: 'utf8',
  });

  expect(status).toBe(1);
  expect(stderr).toMatch(/node_modules: it is a symbolic link.*Remove the link/);
  expect(existsSync(join(other, 'kept'))).toBe(true);
});
