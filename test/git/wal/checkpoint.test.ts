/** Checkpoints of writes to a wide folder: packs that git accepts, small, and of bounded depth. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BareRepository } from '../../../src/git/bare-repository.ts';
import { isShortLived } from '../../../src/git/packs/pack-names.ts';
import { commitOf, expectSound, git, openForTest, packFiles, publish } from '../../support/git.ts';
import { runs } from '../../support/properties.ts';

const WIDTH = 3000;
/** One tree of that width. */
const TREE_BYTES = 100_000;

async function wideRepository(): Promise<BareRepository> {
  const repository = await openForTest({ segmentBytes: 1024 * 1024, graceMs: 0 });
  const files = Array.from({ length: WIDTH }, (_, i) => [
    `w/f${String(i).padStart(5, '0')}`,
    `${i}`,
  ]);
  await publish(repository, commitOf(Object.fromEntries(files)));
  return repository;
}

function packs(gitDir: string): string[] {
  return packFiles(gitDir).filter((name) => name.endsWith('.pack'));
}

function packBytes(gitDir: string): number {
  const sizes = packs(gitDir).map((name) => statSync(join(gitDir, 'objects/pack', name)).size);
  return sizes.reduce((sum, size) => sum + size, 0);
}

function deepest(gitDir: string): number {
  const lines = packs(gitDir).flatMap((name) =>
    git(gitDir, ['verify-pack', '-v', join(gitDir, 'objects/pack', name)]).split('\n'),
  );
  return Math.max(
    ...lines.map((line) => Number(/^\w{40} \w+ +\d+ \d+ \d+ (\d+)/.exec(line)?.[1] ?? 0)),
  );
}

/** Reopens the repository, which ends with a checkpoint. */
async function reopened(repository: BareRepository): Promise<BareRepository> {
  await repository.close();
  return await openForTest({ gitDir: repository.gitDir, segmentBytes: 1024 * 1024, graceMs: 0 });
}

test('a lone write to a wide folder costs about what it changes, on disk and in the WAL', async () => {
  const repository = await wideRepository();
  const { gitDir } = repository;
  for (let i = 0; i < 10; i += 1) await publish(repository, commitOf({ 'w/f00001': `warm ${i}` }));
  await repository.maintain();
  const before = packBytes(gitDir);

  const tips: string[] = [];
  for (let i = 0; i < 150; i += 1) {
    const path = `w/${i % 3 === 0 ? 'new-' : 'f'}${String(i).padStart(5, '0')}`;
    tips.push(...(await publish(repository, commitOf({ [path]: `version ${i}` }))));
  }
  await repository.close();

  // One whole tree, and 150 commits of about 600 bytes.
  expect(packBytes(gitDir) - before).toBeLessThan(TREE_BYTES + 150 * 1024);
  expect(packs(gitDir).some(isShortLived)).toBe(false);
  expect(deepest(gitDir)).toBeLessThanOrEqual(35);
  expect(git(gitDir, ['rev-list', '--count', 'main'])).toBe('161');
  expect(git(gitDir, ['rev-parse', 'main'])).toBe(tips.at(-1));
  expectSound(gitDir);
});

test('commits and files that resemble the ones before are small, as git reads them', async () => {
  const repository = await openForTest({ segmentBytes: 1024 * 1024, graceMs: 0 });
  const { gitDir } = repository;
  const manifest = (i: number): string =>
    [
      'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:',
      `  name: team-${i}`,
      '  labels:\n    app.kubernetes.io/part-of: an example\nspec:',
      `  displayName: Team ${i}`,
      '  description: A line that every team of the organisation has in common.',
      '  users:\n    - ada\n    - grace\n',
    ].join('\n');
  const message = (i: number): string => `create Team "team-${i}"\n\nField-Manager: unknown\n`;
  for (let i = 0; i < 200; i += 1) {
    await publish(
      repository,
      commitOf({ [`teams/${i}.yaml`]: manifest(i) }, { message: message(i) }),
    );
  }
  const tip = git(gitDir, ['rev-parse', 'main']);
  await repository.close();

  // A commit of 260 bytes, a file of 250, two trees, and what pack entries add.
  expect(packBytes(gitDir)).toBeLessThan(200 * 420);
  expect(deepest(gitDir)).toBeLessThanOrEqual(35);
  for (const i of [0, 1, 99, 199]) {
    expect(git(gitDir, ['show', `${tip}:teams/${i}.yaml`])).toBe(manifest(i).trimEnd());
  }
  expect(git(gitDir, ['log', '--format=%s', '-1', `${tip}~50`])).toBe('create Team "team-149"');
  expectSound(gitDir);
});

test('random groups and pauses leave every version as git makes it', async () => {
  const write = fc.record({
    group: fc.array(fc.tuple(fc.nat(60), fc.boolean()), { minLength: 1, maxLength: 9 }),
    next: fc.constantFrom('go on', 'go on', 'go on', 'reopen', 'maintain'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 5, maxLength: 14 }), async (writes) => {
      let repository = await wideRepository();
      const { gitDir } = repository;
      const exists = new Set<string>();
      for (const { group, next } of writes) {
        const commits = group.map(([n, keeps], i) => {
          const path = `w/f${String(n).padStart(5, '0')}-x`;
          const gone = exists.has(path) && !keeps;
          if (gone) exists.delete(path);
          else exists.add(path);
          return commitOf({ [path]: gone ? null : `${n} ${i}` });
        });
        await publish(repository, ...commits);
        if (next === 'reopen') repository = await reopened(repository);
        if (next === 'maintain') await repository.maintain();
      }
      await repository.close();
      const files = git(gitDir, ['ls-tree', '--name-only', 'main:w']).split('\n');
      expect(files).toHaveLength(WIDTH + exists.size);
      expect(deepest(gitDir)).toBeLessThanOrEqual(35);
      expectSound(gitDir);
    }),
    { numRuns: runs(6) },
  );
});
