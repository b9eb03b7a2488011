/** The temporary directory of a run of the tests. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/git.ts';

const RUN = `
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setup } from './test/support/temporary-root.ts';
setup();
setup();
console.log(mkdtempSync(join(tmpdir(), 'left-')));
process.exit(3);
`;

test('a run leaves nothing in the temporary directory, however it exits', () => {
  const folder = temporaryFolder();
  const { GITPLANE_TEST_ROOT: _own, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', RUN],
    { env: { ...env, TMPDIR: folder, TSX_DISABLE_CACHE: '1' }, encoding: 'utf8' },
  );
  expect([status, stderr]).toEqual([3, '']);
  expect(dirname(dirname(stdout.trim()))).toBe(folder);
  expect(readdirSync(folder)).toEqual([]);
});
