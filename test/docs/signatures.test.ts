/** What docs/signatures.md says, done as it says; and what it says of pushes by path. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commitFiles, gitIn, hookSaid, manifest } from '../e2e/clones.ts';
import { type Daemon, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { stepsOf } from './markdown.ts';
import { runStep } from './page.ts';
import { canRunPages, openShell, type Shell } from './shell.ts';

const steps = stepsOf('docs/signatures.md');
const makesKeys = ({ words }: { words: readonly string[] }): boolean => words.includes('keys');
const [prelude] = stepsOf('docs/README.md');

const checkout = scratchDir();
const dataDir = join(checkout, 'data');
const keyFile = (name: string): string => join(checkout, 'keys', name);
let daemon: Daemon;
let shell: Shell;

beforeAll(async () => {
  const before = openShell({ dataDir, port: 0 });
  for (const step of steps.filter(makesKeys)) await runStep(before, step);
  before.close();
  daemon = await startDaemon({
    dataDir,
    args: [
      ...['--allowed-signers', keyFile('allowed_signers'), '--signing-key', keyFile('daemon')],
      ...['--signature-policy', keyFile('policy.yaml')],
    ],
  });
  shell = openShell(daemon);
  if (prelude !== undefined) await runStep(shell, prelude);
});
afterAll(async () => {
  shell?.close();
  await daemon?.stop();
});

for (const step of steps) {
  if (makesKeys(step)) continue;
  test.skipIf(!canRunPages())(step.title, () => runStep(shell, step));
}

test('a push by path is judged like one over HTTPS', async () => {
  const clone = await daemon.clone();
  const path = join(dataDir, 'repo.git');
  await commitFiles(daemon, clone, { 'teams/new.yaml': manifest('Team', 'new') });
  const refused = await daemon.git(['push', path, 'main:main'], clone);
  expect([refused.code, hookSaid(refused)]).toEqual([
    1,
    [
      expect.stringMatching(/: it is not signed \(it changes teams\/new\.yaml\)$/),
      'nothing was changed',
    ],
  ]);

  await gitIn(daemon, clone, 'config', 'gpg.format', 'ssh');
  await gitIn(daemon, clone, 'config', 'user.signingkey', keyFile('ann'));
  await gitIn(daemon, clone, 'commit', '-q', '--amend', '--no-edit', '-S');
  const accepted = await daemon.git(['push', path, 'main:main'], clone);
  expect([accepted.code, hookSaid(accepted)]).toEqual([
    0,
    ['accepted: 1 created, 0 changed, 0 removed'],
  ]);
});

test('everything that is in the branch is signed, from the seed on, and sound', async () => {
  const config = ['-c', `gpg.ssh.allowedSignersFile=${keyFile('allowed_signers')}`];
  const gitDir = join(dataDir, 'repo.git');
  const log = await run('git', [...config, '--git-dir', gitDir, 'log', '--format=%G?', 'main']);
  const verdicts = log.stdout.trim().split('\n');
  const fsck = await run('git', ['--git-dir', gitDir, 'fsck', '--full', '--strict']);

  expect(verdicts.length).toBeGreaterThan(2);
  expect(verdicts.filter((verdict) => verdict !== 'G')).toEqual([]);
  expect(fsck.code).toBe(0);
  expect(daemon.output()).not.toContain('PRIVATE KEY');
});
