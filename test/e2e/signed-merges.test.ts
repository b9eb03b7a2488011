/**
 * Merges of pushes under a signature policy. The platform signs the merge that it made itself; nobody
 * without its key gets another tree, or another parent, accepted as a merge of the platform.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, scratchDir, startDaemon } from '../support/daemon.ts';
import { commitFiles, gitIn, manifest } from './clones.ts';

let daemon: Daemon;
let clone: string;
/** The merge that the platform made, its bytes, and a tree with one change more. */
let merge: { readonly id: string; readonly bytes: string };
let otherTree: string;

beforeAll(async () => {
  const keys = scratchDir();
  for (const name of ['daemon', 'ann', 'ops']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', join(keys, name)]);
  }
  const allowed = ['daemon', 'ann', 'ops'].map(
    (name) =>
      `${name}@example.com namespaces="git" ${readFileSync(join(keys, `${name}.pub`), 'utf8')}`,
  );
  writeFileSync(join(keys, 'allowed'), allowed.join(''));
  const rules = '  - paths: [config/]\n    signers: [ops@example.com]\n';
  writeFileSync(join(keys, 'policy.yaml'), `rules:\n${rules}`);
  const options = {
    'allowed-signers': 'allowed',
    'signing-key': 'daemon',
    'signature-policy': 'policy.yaml',
  };
  const args = Object.entries(options).flatMap(([name, file]) => [`--${name}`, join(keys, file)]);
  daemon = await startDaemon({ args });
  clone = await daemon.clone();
  const settings = {
    'gpg.format': 'ssh',
    'user.signingkey': join(keys, 'ann'),
    'commit.gpgsign': 'true',
  };
  for (const [name, value] of Object.entries(settings))
    await gitIn(daemon, clone, 'config', name, value);
  await diverge('teams/pushed.yaml', manifest('Team', 'pushed'));
  await gitIn(daemon, clone, 'push', '-q', 'origin', 'HEAD:main');
  await gitIn(daemon, clone, 'fetch', '-q');
  const id = await gitIn(daemon, clone, 'rev-parse', 'origin/main');
  merge = { id, bytes: raw(await gitIn(daemon, clone, 'cat-file', 'commit', id)) };
  await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
  const text = readFileSync(join(clone, 'config/platform.yaml'), 'utf8');
  await commitFiles(daemon, clone, { 'config/platform.yaml': `# mine\n${text}` });
  otherTree = await gitIn(daemon, clone, 'rev-parse', 'HEAD^{tree}');
});
afterAll(() => daemon.stop());

const raw = (text: string): string => `${text}\n`;

/** A commit of Ann beside one of the API. */
async function diverge(path: string, text: string): Promise<void> {
  await commitFiles(daemon, clone, { [path]: text });
  const body = { metadata: { name: `beside-${path.length}` }, spec: {} };
  expect((await daemon.call('POST', `${API}/teams`, { body })).code).toBe(201);
}

/** The id of a commit with these bytes. */
function store(bytes: string): string {
  const words = ['hash-object', '-t', 'commit', '-w', '--stdin'];
  return execFileSync('git', words, { cwd: clone, input: bytes, encoding: 'utf8' }).trim();
}

async function refused(id: string): Promise<string> {
  const before = await gitIn(daemon, clone, 'ls-remote', 'origin', 'refs/heads/main');
  const { code, stderr } = await daemon.git(['push', 'origin', `${id}:refs/heads/main`], clone);
  expect(code, stderr).not.toBe(0);
  expect(await gitIn(daemon, clone, 'ls-remote', 'origin', 'refs/heads/main')).toBe(before);
  return stderr;
}

test('the merge is signed by the platform, and is taken again as it is', async () => {
  expect(merge.bytes.match(/^parent /gm)).toHaveLength(2);
  expect(merge.bytes).toContain('gpgsig');
  await gitIn(daemon, clone, 'push', '-q', 'origin', `${merge.id}:refs/heads/main`);
});

describe('a forged merge is refused:', () => {
  const head = (): string => merge.bytes.slice(0, merge.bytes.indexOf('gpgsig'));
  const message = (): string => merge.bytes.slice(merge.bytes.indexOf('\n\n'));
  const withTree = (text: string): string => text.replace(/^tree \w+/, `tree ${otherTree}`);
  const INVALID = /its signature is not valid/;
  /** On the tip, in the place of the first parent. */
  const onTip = (text: string): string => text.replace(/^parent \w+/m, `parent ${merge.id}`);

  test.each<[string, () => string, RegExp]>([
    ['another tree beside the tip', () => withTree(merge.bytes), /The branch and this push were/],
    ['another tree on the tip', () => onTip(withTree(merge.bytes)), INVALID],
    ['another parent', () => onTip(merge.bytes), INVALID],
    [
      'the committer of the platform and no signature',
      () => onTip(withTree(head() + message().slice(1))),
      /it is not signed/,
    ],
  ])('%s', async (_, bytes, reason) => {
    expect(await refused(store(bytes()))).toMatch(reason);
  });

  test('the signature of another user on a change that a rule protects', async () => {
    const tip = merge.id;
    const words = ['commit-tree', otherTree, '-p', tip, '-p', `${tip}^2`, '-S', '-m', 'merge'];
    const id = await gitIn(daemon, clone, ...words);

    expect(await refused(id)).toMatch(/config\/platform\.yaml requires a signature of ops/);
  });
});

test('the platform does not sign away what a rule protects: a pushed commit is judged itself', async () => {
  await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
  const text = readFileSync(join(clone, 'config/platform.yaml'), 'utf8');
  await diverge('config/platform.yaml', `# mine\n${text}`);

  const id = await gitIn(daemon, clone, 'rev-parse', 'HEAD');
  expect(await refused(id)).toMatch(/config\/platform\.yaml requires a signature of ops/);
});
