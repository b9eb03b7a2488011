/** OpenPGP signatures, made by git and gpg. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BareRepository } from '../../src/git/bare-repository.ts';
import { initRepository } from '../../src/git/init-repository.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { commitOf, git, publish } from '../support/git.ts';
import { allowedSigners, makeCommit, openJudge, rewritten, signatureOf, sshKey } from './keys.ts';

const missing = spawnSync('gpg', ['--version']).error !== undefined;

/** So that a report shows it. */
if (missing) test.skip('gpg is missing: nothing about OpenPGP signatures was tested', () => {});

describe.skipIf(missing)('a keyring of gpg', () => {
  let folder: string;
  let repository: BareRepository;
  let base: string;
  let keyring: string;
  const fingerprints = new Map<string, string>();

  const gpg = (...args: string[]): string =>
    execFileSync('gpg', ['--homedir', join(folder, 'home'), '--batch', '--quiet', ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
    }).toString('latin1');

  function newKey(name: string, expires = 'never', faked?: string): void {
    const when = faked === undefined ? [] : ['--faked-system-time', faked];
    const by = `${name} <${name}@example.com>`;
    const pass = ['--passphrase', '', '--pinentry-mode', 'loopback'];
    gpg(...when, ...pass, '--quick-generate-key', by, 'ed25519', 'sign', expires);
    const colons = gpg('--with-colons', '--list-keys', `${name}@example.com`);
    fingerprints.set(name, /^fpr:+([0-9A-F]{40}):/m.exec(colons)?.[1] ?? '');
  }

  const exported = (...names: string[]): string =>
    gpg('--armor', '--export', ...names.map((name) => fingerprints.get(name) ?? ''));

  /** A program for git that is gpg with these keys and options. */
  function program(name: string, ...options: string[]): string[] {
    const path = join(folder, `gpg-${name}`);
    const all = ['--homedir', join(folder, 'home'), '--batch', ...options].join(' ');
    writeFileSync(path, `#!/bin/sh\nexec gpg ${all} "$@"\n`, { mode: 0o755 });
    return ['-c', `gpg.program=${path}`, '-c', `user.signingkey=${fingerprints.get(name)}!`];
  }

  const signed = (name: string, ...options: string[]): string =>
    makeCommit(repository.gitDir, {
      parents: [base],
      files: { 'config/c.txt': name },
      config: program(name, ...options),
    });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gitplane-gpg-'));
    mkdirSync(join(folder, 'home'), { mode: 0o700 });
    for (const name of ['ops', 'stranger', 'revoked']) newKey(name);
    newKey('ann', 'never', '20200101T000000');
    newKey('expired', '20200201T000000', '20200101T000000');
    keyring = join(folder, 'keyring.asc');
    writeFileSync(keyring, exported('ann', 'ops', 'expired', 'revoked'));
    const place = { gitDir: join(folder, 'repo.git'), branch: 'main' };
    await initRepository(place);
    repository = await openRepository({ ...place, packThreshold: Number.POSITIVE_INFINITY });
    [base = ''] = await publish(repository, commitOf({ 'config/c.txt': '1' }));
  });
  afterAll(async () => {
    spawnSync('gpgconf', ['--homedir', join(folder, 'home'), '--kill', 'all']);
    await repository?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function judge(id: string, rules?: string): Promise<string> {
    const used = await openJudge({ gpgKeyring: keyring, rules });
    return (await used.judge(repository, { from: base, to: id })).join('\n');
  }

  test('commits signed by its keys are accepted', async () => {
    expect(await judge(signed('ann'))).toBe('');
  });

  test('unsigned commits and foreign signatures are refused', async () => {
    const unsigned = makeCommit(repository.gitDir, { parents: [base], files: { a: '1' } });

    expect(await judge(unsigned)).toContain('it is not signed (it changes a)');
    expect(await judge(signed('stranger'))).toContain('its key is not in the keyring');
  });

  test('an expired key is refused, for any time of the signature', async () => {
    const id = signed('expired', '--faked-system-time', '20200115T000000');

    expect(await judge(id)).toContain('its signature is not valid: its key has expired');
  });

  test('a key that was revoked counts no more', async () => {
    const id = signed('revoked');
    expect(await judge(id)).toBe('');
    const fingerprint = fingerprints.get('revoked') ?? '';
    // gpg keeps the certificate with a colon before its armor, against accidents.
    const certificate = execFileSync('sed', [
      's/^:---/---/',
      join(folder, 'home', 'openpgp-revocs.d', `${fingerprint}.rev`),
    ]);
    const file = join(folder, 'revocation.asc');
    writeFileSync(file, certificate);
    gpg('--import', file);
    const before = keyring;
    keyring = join(folder, 'revoked.asc');
    writeFileSync(keyring, exported('revoked'));

    expect(await judge(id)).toContain('its signature is not valid: its key was revoked');
    keyring = before;
  });

  test('a signature that expired counts no more', async () => {
    const id = signed('ann', '--faked-system-time', `${now(-10)}!`, '--default-sig-expire', '3');

    expect(await judge(id)).toContain('its signature is not valid: it has expired');
  });

  test('a signature of another commit is refused', async () => {
    const { gitDir } = repository;
    const signature = signatureOf(gitDir, signed('ann'));
    const other = makeCommit(gitDir, { parents: [base], files: { a: 'evil' } });
    const forged = rewritten(gitDir, other, (text) => text.replace('\n\n', `\n${signature}\n`));

    expect(await judge(forged)).toContain('it was not made for this commit');
  });

  test.each([
    ['two blocks', (good: string) => good + good.replace('gpgsig', '')],
    ['text behind it', (good: string) => `${good} more\n`],
    ['another kind of block', (good: string) => good.replaceAll('PGP SIGNATURE', 'PGP MESSAGE')],
  ])('%s in place of a signature do not count', async (_what, change) => {
    const { gitDir } = repository;
    const id = signed('ann');
    const good = signatureOf(gitDir, id);
    const changed = rewritten(gitDir, id, (text) => text.replace(good, change(good)));

    expect(await judge(changed)).toMatch(
      /surrounded by other data|neither an SSH nor an OpenPGP signature/,
    );
  });

  test('two signatures in one block do not count, although both are good', async () => {
    const both = program('both', '--local-user', `${fingerprints.get('ops')}`);
    const id = makeCommit(repository.gitDir, {
      parents: [base],
      files: { a: '1' },
      config: [...both.slice(0, 2), '-c', `user.signingkey=${fingerprints.get('ann')}`],
    });

    expect(await judge(id)).toContain('it contains several signatures');
  });

  test('a text signature is refused: it would match other commits too', async () => {
    expect(await judge(signed('ann', '--textmode'))).toContain('a signature of text, not of bytes');
  });

  test('a policy names keys by their fingerprints', async () => {
    const rules = join(folder, 'policy.yaml');
    const write = (signer: string): void =>
      writeFileSync(rules, `rules: [{ paths: [config/], signers: ["${signer}"] }]\n`);
    write((fingerprints.get('ops') ?? '').replace(/.{4}/g, '$& '));

    expect(await judge(signed('ops'), rules)).toBe('');
    expect(await judge(signed('ann'), rules)).toContain(
      `config/c.txt requires a signature of ${fingerprints.get('ops')}, and it is signed by OpenPGP key ${fingerprints.get('ann')}`,
    );
    // A name is whatever the owner of a key writes into it.
    write('ops@example.com');
    await expect(judge(signed('ops'), rules)).rejects.toThrow(/no key belongs to "ops@example/);
  });

  test('a keyring is found by a path that begins where the daemon was started', async () => {
    const used = await openJudge({ gpgKeyring: relative(process.cwd(), keyring) });
    expect(await used.judge(repository, { from: base, to: signed('ann') })).toEqual([]);
  });

  test('a keyring without keys does not open', async () => {
    const empty = join(folder, 'empty.asc');
    writeFileSync(empty, '');

    await expect(openJudge({ gpgKeyring: empty })).rejects.toThrow(
      /^Cannot use the keyring .*empty\.asc: .*; write it with `gpg --armor --export KEY…`$/,
    );
    await expect(openJudge({ gpgKeyring: join(folder, 'none') })).rejects.toThrow(/ENOENT/);
  });

  test('nothing but the keyring is read: the keys of the user do not count', async () => {
    const home = join(folder, 'home');
    const before = readdirSync(home);
    process.env['GNUPGHOME'] = home;
    try {
      expect(await judge(signed('stranger'))).toContain('its key is not in the keyring');
    } finally {
      delete process.env['GNUPGHOME'];
    }
    expect(readdirSync(home)).toEqual(before);
  });

  test('signatures of both kinds may be allowed together', async () => {
    const ssh = sshKey(folder, 'ssh');
    const judged = await openJudge({
      gpgKeyring: keyring,
      allowedSigners: allowedSigners(folder, `ann@example.com ${ssh.publicLine}`),
    });
    const first = signed('ann');
    const second = makeCommit(repository.gitDir, { parents: [first], files: { b: '' }, key: ssh });

    expect(await judged.judge(repository, { from: base, to: second })).toEqual([]);
    expect(git(repository.gitDir, ['log', '--format=%h', `${base}..${second}`])).toMatch(/\n/);
  });
});

/** A time as gpg reads it, some days from now. */
function now(days: number): string {
  const time = new Date(Date.now() + days * 86_400_000);
  return time.toISOString().replace(/[-:]|\.\d+Z/g, '');
}
