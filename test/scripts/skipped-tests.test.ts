/** The block at the end of a run names each missing peer, the tests it costs and its remedy. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installLine } from '../../scripts/peers.mjs';
import { scratchDir } from '../support/daemon.ts';
import { describeSkips } from '../support/skipped-tests.ts';

const FAR = {
  name: 'far',
  isThere: () => false,
  marker: /FAR_PEER/,
  packages: ['far', 'far-libs'],
};
const BUILT = { name: 'built', isThere: () => false, marker: /BUILT/, remedy: 'npm run built' };

test('skipped tests are counted for the missing peer that their file names', () => {
  const folder = scratchDir();
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const skipped = [
    { file: file('a', 'skipIf(FAR_PEER)'), count: 3 },
    { file: file('b', 'import FAR_PEER'), count: 4 },
    { file: file('c', 'BUILT'), count: 1 },
    { file: file('d', 'neither'), count: 2 },
  ];
  const text = describeSkips({ skipped, all: 100, missing: [FAR, BUILT] });
  expect(text).toContain('SKIPPED: 10 of 100 tests');
  expect(text).toContain('far: 7 tests in 2 files\n');
  expect(text).toContain('built: 1 tests in 1 files. Remedy: npm run built');
  expect(text).toContain('a condition in the test file: 2 tests in 1 files');
  expect(text).toContain('apt-get install -y --no-install-recommends far far-libs\n');
});

test('no package missing is no line to run', () => {
  expect(installLine([BUILT])).toBe('');
});
