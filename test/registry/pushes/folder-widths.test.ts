/** Warnings about folders that a push widens. */
import { expect, test } from 'vitest';
import { foreignCommit } from '../../support/git.ts';
import { openTestPlatform, type TestPlatform } from '../../support/platform.ts';

async function push(
  platform: TestPlatform,
  files: Record<string, string | null>,
): Promise<readonly string[]> {
  const parents = [(await platform.repository.head()) ?? ''];
  const verdict = await platform.push(
    foreignCommit(platform.repository.gitDir, { parents, files }),
  );
  expect(verdict.ok).toBe(true);
  return verdict.lines.filter((line) => line.includes('entries'));
}

test('a push that widens a folder past 5,000 entries is accepted with a warning', async () => {
  const platform = await openTestPlatform();
  const files = Array.from({ length: 4999 }, (_, i) => [`notes/f${i}.txt`, '']);
  await platform.commit(Object.fromEntries(files));

  expect(await push(platform, { 'notes/one.txt': '' })).toEqual([]);
  expect(await push(platform, { 'notes/two.txt': '' })).toEqual([
    expect.stringMatching(/notes.*5001 entries.*\d+ KiB; "gitplane repo fan-out notes"/),
  ]);
  // As wide as before, or narrower.
  expect(await push(platform, { 'notes/two.txt': 'changed', 'a.txt': '' })).toEqual([]);
  expect(await push(platform, { 'notes/two.txt': null })).toEqual([]);
});
