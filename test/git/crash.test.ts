/**
 * Invariant 1 at every point where a publication can be broken off: the branch is at the old or
 * the new commit, with every object of it, and the next start writes on as if nothing had been.
 */
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { thisOwner } from '../../src/files/owner.ts';
import type { BareRepository } from '../../src/git/bare-repository.ts';
import { StorageError } from '../../src/git/git-error.ts';
import { initRepository } from '../../src/git/init-repository.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { Crash, type Fault, FragileFiles } from '../support/fragile-files.ts';
import {
  commitOf,
  expectSound,
  filesOf,
  git,
  openForTest,
  packFiles,
  publish,
  temporaryFolder,
} from '../support/git.ts';

/** A process of this machine that is gone. */
const deadOwner = thisOwner.replace(/-\d+-\d+$/, '-4194305-1');

interface Scene {
  readonly gitDir: string;
  readonly files: FragileFiles;
  readonly repository: BareRepository;
  readonly before: string | undefined;
}

/** A repository with one commit; copied for each case. */
let template = '';

beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), 'gitplane-template-'));
  await initRepository({ gitDir: template, branch: 'main' });
  const repository = await openRepository({ gitDir: template, branch: 'main' });
  await publish(repository, commitOf({ 'a/b': '1', 'a/c': '1', d: '1' }));
  await repository.close();
});

afterAll(() => rmSync(template, { recursive: true, force: true }));

async function scene(fault: Fault | undefined, owner: string): Promise<Scene> {
  const folder = temporaryFolder();
  const gitDir = join(folder, 'repo.git');
  cpSync(template, gitDir, { recursive: true });
  const files = new FragileFiles(folder, fault);
  onTestFinished(() => files.release());
  const repository = await openForTest({ gitDir, files, owner, lockTimeoutMs: 30 });
  return { gitDir, files, repository, before: await repository.head() };
}

/** The publication that is broken off: three commits. Its tip is the same in every run. */
async function write(repository: BareRepository, before: string | undefined): Promise<string> {
  const batch = repository.begin(before);
  await batch.add(commitOf({ 'a/b': '2' }));
  await batch.add(commitOf({ 'x/y/z': '2' }));
  await batch.add(commitOf({ 'a/c': null }));
  await batch.publish();
  return batch.tip ?? '';
}

function leftovers(gitDir: string): string[] {
  return [
    ...packFiles(gitDir).filter((name) => name.startsWith('tmp_')),
    ...readdirSync(join(gitDir, 'gitplane')),
    ...readdirSync(join(gitDir, 'refs', 'heads')).filter((name) => name.endsWith('.lock')),
  ];
}

/** A start after the crash: the head is one of the two, sound, and writing goes on. */
async function expectRecovered(
  gitDir: string,
  allowed: readonly (string | undefined)[],
): Promise<void> {
  expectSound(gitDir);
  const repository = await openRepository({ gitDir, branch: 'main', lockTimeoutMs: 30 });
  const head = await repository.head();
  expect(allowed).toContain(head);
  expect(leftovers(gitDir)).toEqual([]);
  const orphans = packFiles(gitDir).filter(
    (name) =>
      name.endsWith('.pack') &&
      !existsSync(join(gitDir, 'objects/pack', name.replace(/pack$/, 'idx'))),
  );
  expect(orphans).toEqual([]);
  const [next] = await publish(repository, commitOf({ 'a/b': 'after', 'x/y/z': 'after' }));
  expect(git(gitDir, ['rev-parse', 'main'])).toBe(next);
  expect(filesOf(gitDir, 'main')).toMatchObject({ 'a/b': 'after', 'x/y/z': 'after' });
  expectSound(gitDir);
  await repository.close();
}

async function operationsOfOneRun(): Promise<string[]> {
  const { files, repository, before } = await scene(undefined, thisOwner);
  await write(repository, before);
  return files.operations;
}

test('the objects are durable before the ref moves, and the ref before the answer', async () => {
  const operations = await operationsOfOneRun();
  const shape = operations.map((operation) =>
    operation
      .replace(/tmp_gitplane-\S+_(\w+)/, 'new $1')
      .replace(/pack-[0-9a-f]{40}/, 'pack')
      .replace(/claim-\S+/, 'claim'),
  );
  const after = shape.slice(shape.lastIndexOf('sync claim') + 1);
  expect(shape.slice(0, 9).toSorted()).toEqual(
    ['create', 'sync', 'write'].flatMap((verb) => [
      `${verb} claim`,
      `${verb} new idx`,
      `${verb} new pack`,
    ]),
  );
  expect(after.slice(0, 6)).toEqual([
    'link main.lock',
    'rename pack.pack',
    'rename pack.idx',
    'syncDirectory pack',
    'rename main',
    'syncDirectory heads',
  ]);
});

/** Simulates a power failure: removes names that were not synced, in all directories or in some. */
const losses: Record<string, ((directory: string) => boolean) | undefined> = {
  'the process dies': undefined,
  'the power fails': () => true,
  'the power fails, the pack folder is older': (directory) => directory.endsWith('pack'),
  'the power fails, the refs are older': (directory) => directory.endsWith('heads'),
};

describe.each(Object.entries(losses))('%s', (_title, loses) => {
  test('survives a crash at any operation of a publication', async () => {
    const count = (await operationsOfOneRun()).length;
    const outcomes = new Set<string>();
    for (let at = 0; at < count; at++) {
      for (const when of ['before', 'after'] as const) {
        const { gitDir, files, repository, before } = await scene(
          { kind: 'crash', at, when },
          deadOwner,
        );
        const tip = await write(repository, before).catch((error: unknown) => {
          if (!(error instanceof Crash)) throw error;
          return undefined;
        });
        await repository.close();
        if (loses !== undefined) files.losePower(loses);
        const newTip = await expectedTip();
        // Acknowledged commits must exist; others may.
        const allowed = tip === undefined ? [before, newTip] : [newTip];
        outcomes.add(git(gitDir, ['rev-parse', 'main']) === before ? 'old' : 'new');
        await expectRecovered(gitDir, allowed);
      }
    }
    expect([...outcomes].sort()).toEqual(['new', 'old']);
  });

  test('right after the answer', async () => {
    const { gitDir, files, repository, before } = await scene(undefined, deadOwner);
    const tip = await write(repository, before);
    await repository.close();
    if (loses !== undefined) files.losePower(loses);
    await expectRecovered(gitDir, [tip]);
  });
});

let tipOfTheRun: string | undefined;
async function expectedTip(): Promise<string> {
  if (tipOfTheRun === undefined) {
    const { repository, before } = await scene(undefined, thisOwner);
    tipOfTheRun = await write(repository, before);
  }
  return tipOfTheRun;
}

describe('a disk that refuses', () => {
  const cases = ['ENOSPC', 'EROFS', 'EIO'].flatMap((code) =>
    [false, true].map(
      (lasting) => [code, lasting ? 'from one operation on' : 'one operation', lasting] as const,
    ),
  );
  test.each(cases)(
    '%s at %s: a clear error, the branch as it was, and writing goes on after',
    async (code, _how, lasting) => {
      const count = (await operationsOfOneRun()).length;
      for (let at = 0; at < count; at++) {
        const { gitDir, files, repository, before } = await scene(
          { kind: 'error', at, code, lasting },
          thisOwner,
        );
        const operation = () => files.operations[at] ?? '';
        const error = await write(repository, before).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (error === undefined) {
          expect(operation()).toMatch(/^remove/); // tidying up is nobody's failure
        } else {
          expect(error).toBeInstanceOf(StorageError);
          expect(error).toMatchObject({ code, moved: operation() === 'syncDirectory heads' });
          const { moved } = error as StorageError;
          expect((await repository.head()) !== before).toBe(moved);
        }
        if (!lasting && !operation().startsWith('remove')) expect(leftovers(gitDir)).toEqual([]);
        expectSound(gitDir);

        files.repair();
        await publish(repository, commitOf({ 'a/b': 'recovered' }));
        expect(filesOf(gitDir, 'main')).toMatchObject({ 'a/b': 'recovered' });
        expectSound(gitDir);
        await repository.close();
      }
    },
  );

  test('names the place, the code and the remedy', async () => {
    const { repository, before } = await scene(
      { kind: 'error', at: 0, code: 'ENOSPC', lasting: false },
      thisOwner,
    );
    await expect(write(repository, before)).rejects.toThrow(
      /^Cannot write to \/.*repo\.git \(ENOSPC\): the branch was not moved\. The disk is full: free some space$/,
    );
  });

  test('the same commits written again do not harm the pack of the first attempt', async () => {
    const operations = await operationsOfOneRun();
    const at = (name: RegExp) => operations.findIndex((operation) => name.test(operation));
    const { gitDir, files, repository, before } = await scene(undefined, thisOwner);
    const fault = { kind: 'error', code: 'EIO', lasting: false } as const;
    // The first attempt leaves a whole pack that nothing points to; the second one fails between
    // its renames, onto the very same names.
    files.inject({ ...fault, at: at(/^rename main$/) });
    await expect(write(repository, before)).rejects.toThrow(StorageError);
    files.inject({ ...fault, at: at(/^rename pack-.*idx$/) });
    await expect(write(repository, before)).rejects.toThrow(StorageError);
    const packs = packFiles(gitDir).map((name) => name.replace(/.*\./, ''));
    expect(packs.toSorted()).toEqual(['idx', 'idx', 'pack', 'pack']);
    expectSound(gitDir);
  });
});
