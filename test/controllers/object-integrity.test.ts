/** All of history is read in the background: damage that the newest commits do not show is found. */
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { watchObjects } from '../../src/controllers/object-integrity.ts';
import type { BareRepository } from '../../src/git/bare-repository.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { commitOf, git, openForTest, packFiles, publish } from '../support/git.ts';

/** More commits than the check of the newest ones reads. */
const COMMITS = 55;

async function longHistory(): Promise<{ repository: BareRepository; oldPack: string }> {
  const repository = await openForTest({ packThreshold: 1_000 });
  await publish(repository, commitOf({ old: 'a text that goes away again '.repeat(40) }));
  const [oldPack = ''] = packFiles(repository.gitDir).filter((name) => name.endsWith('.pack'));
  await publish(repository, commitOf({ old: null, kept: '0' }));
  for (let i = 1; i < COMMITS; i++) await publish(repository, commitOf({ kept: `${i}` }));
  return { repository, oldPack: join(repository.gitDir, 'objects/pack', oldPack) };
}

function watched(repository: BareRepository) {
  const problems = new Map<string, string | undefined>();
  const damaged = new Map<string, boolean>();
  const refusals: (string | undefined)[] = [];
  let log = '';
  const watch = watchObjects({
    repository,
    branch: { refuseWrites: (reason) => void refusals.push(reason) },
    observation: {
      report: (check, problem) => void problems.set(check, problem),
      damaged: (part, isDamaged) => void damaged.set(part, isDamaged),
    },
    logger: createLogger('info', {
      write: (line) => {
        log += line;
      },
    }),
    historyAfterMs: 0,
  });
  onTestFinished(() => watch.close());
  return { problems, damaged, refusals, log: () => log };
}

const WITHIN = { timeout: 15_000 };

test('an old object that is damaged is reported, refuses no write, and is healed by the pack', async () => {
  const { repository, oldPack } = await longHistory();
  const bytes = readFileSync(oldPack);
  const flipped = Buffer.from(bytes);
  for (let i = 30; i < 40; i++) flipped[i] = (flipped[i] ?? 0) ^ 0xff;
  chmodSync(oldPack, 0o644);
  writeFileSync(oldPack, flipped);

  const { problems, damaged, refusals, log } = watched(repository);
  await expect.poll(() => damaged.get('history'), WITHIN).toBe(true);
  await expect.poll(() => damaged.get('tip'), WITHIN).toBe(false);
  expect(problems.get('repository-objects')).toMatch(/history cannot be read/);
  expect(log()).toMatch(/"part":"history".*"reason":.*"remedy":"Restore/);
  expect(refusals.every((reason) => reason === undefined)).toBe(true);

  writeFileSync(`${oldPack}.new`, bytes);
  renameSync(`${oldPack}.new`, oldPack);
  await expect.poll(() => damaged.get('history'), WITHIN).toBe(false);
  expect(problems.get('repository-objects')).toBeUndefined();
});

test('a sound history is not a problem, nor are commits of others that git only complains about', async () => {
  const { repository } = await longHistory();
  const tree = git(repository.gitDir, ['rev-parse', 'main^{tree}']);
  const parent = git(repository.gitDir, ['rev-parse', 'main']);
  const person = 'A <a@example.com> 1700000000 +0000';
  const text = `tree ${tree}\nparent ${parent}\nauthor A a@example.com 1700000000 +0000\ncommitter ${person}\n\nx\n`;
  const args = ['hash-object', '-t', 'commit', '-w', '--literally', '--stdin'];
  const commit = git(repository.gitDir, args, { input: text });
  git(repository.gitDir, ['update-ref', 'refs/heads/main', commit]);

  const { damaged, log } = watched(repository);
  const sound = { tip: false, packs: false, history: false };
  await expect.poll(() => Object.fromEntries(damaged), WITHIN).toEqual(sound);
  expect(log()).not.toMatch(/damaged/);
});
