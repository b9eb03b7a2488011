/** gpg with keys of its own, as a holder of PGP keys has them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Reason why nothing of PGP is tested; undefined: gpg is here. */
export const GPG_MISSING =
  spawnSync('gpg', ['--version']).error === undefined
    ? undefined
    : 'gpg is missing: apt-get install gnupg';

export class PgpHome {
  readonly folder = mkdtempSync(join(tmpdir(), 'gitplane-pgp-'));
  readonly home = join(this.folder, 'home');

  constructor() {
    mkdirSync(this.home, { mode: 0o700 });
  }

  run(args: readonly string[], input?: string | Buffer): Buffer {
    return execFileSync('gpg', ['--homedir', this.home, '--batch', '--quiet', ...args], {
      input: input ?? '',
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }

  /** The fingerprint of a new key that encrypts. */
  newKey(name: string, expires = 'never', ...options: readonly string[]): string {
    const by = `${name} <${name}@example.com>`;
    const pass = ['--passphrase', '', '--pinentry-mode', 'loopback'];
    this.run([
      ...options,
      ...pass,
      '--quick-generate-key',
      by,
      'future-default',
      'default',
      expires,
    ]);
    const colons = this.run(['--with-colons', '--list-keys', by]).toString('latin1');
    return /^fpr:+([0-9A-F]{40}):/m.exec(colons)?.[1] ?? '';
  }

  /** A file with the public keys. */
  exported(...fingerprints: readonly string[]): string {
    const file = join(this.folder, `${fingerprints.join('-').slice(0, 60)}.asc`);
    writeFileSync(file, this.run(['--armor', '--export', ...fingerprints]));
    return file;
  }

  decrypt(message: string): Buffer {
    return this.run(['--decrypt'], message);
  }

  close(): void {
    spawnSync('gpgconf', ['--homedir', this.home, '--kill', 'all']);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
