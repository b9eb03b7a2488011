/** Real keys, made by ssh-keygen and gpg, and real git commits signed with them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { SignatureJudge } from '../../src/signatures/signature-judge.ts';
import { type PolicyFiles, PolicySource } from '../../src/signatures/signature-policy.ts';
import type { SshPublicKey } from '../../src/signatures/ssh-public-key.ts';
import { git, temporaryFolder } from '../support/git.ts';

export interface SshKey {
  /** File of the private key; the public one is beside it. */
  readonly file: string;
  /** `ssh-ed25519 AAAA…`, without a comment. */
  readonly publicLine: string;
}

export function sshKey(folder: string, name: string, type = 'ed25519', bits?: string): SshKey {
  const file = join(folder, name);
  const size = bits === undefined ? [] : ['-b', bits];
  execFileSync('ssh-keygen', ['-q', '-t', type, ...size, '-N', '', '-C', '', '-f', file]);
  return { file, publicLine: readFileSync(`${file}.pub`, 'utf8').trim() };
}

/** A file of allowed signers; returns its path. */
export function allowedSigners(folder: string, ...lines: readonly string[]): string {
  const path = join(folder, 'allowed_signers');
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

/** Git config for signing with an SSH key. */
export function signingWith(key: SshKey): string[] {
  return ['-c', 'gpg.format=ssh', '-c', `user.signingkey=${key.file}`];
}

const TIME = 1_700_000_000;

export interface Commit {
  readonly parents: readonly string[];
  readonly files: Readonly<Record<string, string | null>>;
  readonly key?: SshKey | undefined;
  /** Seconds since the epoch. */
  readonly time?: number;
  /** More arguments for git, before its command. */
  readonly config?: readonly string[];
}

/** Makes a commit with git itself, on the tree of its first parent; returns its id. */
export function makeCommit(gitDir: string, commit: Commit): string {
  const { parents, key, time = TIME, config = [] } = commit;
  const [plain = ''] = importCommits(gitDir, [commit]);
  if (key === undefined && config.length === 0) return plain;
  const named = parents.flatMap((parent) => ['-p', parent]);
  const args = [...(key === undefined ? [] : signingWith(key)), ...config];
  const date = `${time} +0000`;
  return git(gitDir, [...args, 'commit-tree', '-S', ...named, '-m', 'change', `${plain}^{tree}`], {
    env: { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
  });
}

/** Unsigned commits, each on top of the previous one; returns the last. */
export function makeChain(gitDir: string, base: string, count: number): string {
  const commits = Array.from({ length: count }, (_, i) => ({
    parents: [i === 0 ? base : `:${i}`],
    files: {},
  }));
  return importCommits(gitDir, commits).at(-1) ?? base;
}

function importCommits(gitDir: string, commits: readonly Commit[]): string[] {
  const lines = commits.flatMap(({ parents, files, time = TIME }, i) => {
    const [first, ...others] = parents;
    const who = `Grace Hopper <grace@example.com> ${time} +0000`;
    return [
      // A commit without parents needs a ref that is not there.
      ...(first === undefined ? ['reset refs/test/made'] : []),
      'commit refs/test/made',
      `mark :${i + 1}`,
      `author ${who}`,
      `committer ${who}`,
      'data 7\nchange\n',
      ...(first === undefined ? [] : [`from ${first}`]),
      ...others.map((other) => `merge ${other}`),
      ...Object.entries(files).map(([path, text]) =>
        text === null
          ? `D ${path}`
          : `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}`,
      ),
      '',
      `get-mark :${i + 1}`,
    ];
  });
  const input = `${lines.join('\n')}\n`;
  return git(gitDir, ['fast-import', '--quiet', '--force'], { input }).split('\n');
}

/** A commit object with other bytes; git is not asked whether it likes them. */
export function rewritten(gitDir: string, id: string, change: (text: string) => string): string {
  const text = execFileSync('git', ['cat-file', 'commit', id], { cwd: gitDir }).toString('latin1');
  const input = Buffer.from(change(text), 'latin1');
  return git(gitDir, ['hash-object', '-t', 'commit', '-w', '--literally', '--stdin'], { input });
}

/** The `gpgsig` header of a commit, with its line end. */
export function signatureOf(gitDir: string, id: string): string {
  const text = git(gitDir, ['cat-file', 'commit', id]);
  return /gpgsig [\s\S]*?\n(?! )/.exec(text)?.[0] ?? '';
}

/** True if git accepts the signature. */
export function gitSaysGood(gitDir: string, id: string, signers: string): boolean {
  const config = ['-c', `gpg.ssh.allowedSignersFile=${signers}`];
  const { status, stderr } = spawnSync('git', [...config, 'verify-commit', '--raw', id], {
    cwd: gitDir,
    encoding: 'utf8',
  });
  return status === 0 && /Good "git" signature for/.test(stderr);
}

export async function openJudge(
  files: Partial<PolicyFiles>,
  more: { own?: SshPublicKey; now?: () => number } = {},
): Promise<SignatureJudge> {
  const source = await PolicySource.open({
    files: { allowedSigners: undefined, gpgKeyring: undefined, rules: undefined, ...files },
    gpgHome: join(temporaryFolder(), 'gnupg'),
    own: more.own,
  });
  const judge = new SignatureJudge(source, { now: more.now ?? Date.now });
  onTestFinished(() => judge.close());
  return judge;
}
