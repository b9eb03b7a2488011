/**
 * OpenPGP through gpg: verifies signatures and encrypts small contents. The keyring contains only the
 * keys of the operator. The config of the user, key servers and the web of trust are not used.
 */
import { spawn } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Writable } from 'node:stream';
import { inheritedEnvironment, limitedCommand, NOT_FOUND } from '../git/index.ts';
import { SignatureError, SignatureFileError } from './signature-error.ts';

export const GPG_ARMOR = '-----BEGIN PGP SIGNATURE-----';
const ARMOR_END = '-----END PGP SIGNATURE-----';

export interface GpgKeyring {
  /** Fingerprints of the primary keys: 40 hexadecimal digits, upper case. */
  readonly fingerprints: ReadonlySet<string>;
  /** Returns the fingerprint of the primary key. Throws SignatureError for an invalid signature. */
  verify(payload: Buffer, signature: string): Promise<string>;
  /** True if the keyring has the key or a subkey with this fingerprint. */
  has(fingerprint: string): boolean;
  /** Encrypts to an armored message for the key. Throws SignatureError. */
  encrypt(content: Buffer, fingerprint: string): Promise<string>;
}

const ARGUMENTS = [
  '--no-options',
  '--batch',
  '--no-tty',
  '--quiet',
  '--no-autostart',
  '--disable-dirmngr',
  '--no-auto-key-retrieve',
  '--lock-never',
  // The operator chose the keys in the file, so all of them are trusted.
  '--trust-model',
  'always',
  '--weak-digest',
  'SHA1',
];

/**
 * `home` is a folder that is recreated for this keyring. Throws SignatureFileError if gpg is missing or
 * the file contains no public key.
 */
export async function openGpgKeyring(file: string, home: string): Promise<GpgKeyring> {
  await rm(home, { recursive: true, force: true });
  await mkdir(home, { recursive: true, mode: 0o700 });
  const imported = await runGpg(home, ['--import', resolve(file)]);
  const listed = await runGpg(home, ['--with-colons', '--list-keys']);
  const fingerprints = primaryFingerprints(listed.stdout);
  if (imported.code !== 0 || fingerprints.size === 0) {
    const reason = imported.stderr.trim().split('\n').at(-1) ?? '';
    throw new SignatureFileError(
      `Cannot use the keyring ${file}: ${reason || 'it contains no public key'}; write it with \`gpg --armor --export KEY…\``,
    );
  }
  const all = new Set(colonRecords(listed.stdout, ['pub', 'sub']));
  return {
    fingerprints,
    verify: (payload, text) => verify(home, payload, text),
    has: (fingerprint) => all.has(fingerprint),
    encrypt: (content, fingerprint) => encrypt(home, content, fingerprint),
  };
}

function primaryFingerprints(colons: string): Set<string> {
  return new Set(colonRecords(colons, ['pub']));
}

/** Fingerprints of the `fpr` records that follow records of these types. */
function colonRecords(colons: string, types: readonly string[]): string[] {
  const found: string[] = [];
  let last = '';
  for (const line of colons.split('\n')) {
    const fields = line.split(':');
    if (fields[0] === 'fpr' && types.includes(last)) found.push(fields[9] ?? '');
    else last = fields[0] ?? '';
  }
  return found;
}

async function encrypt(home: string, content: Buffer, fingerprint: string): Promise<string> {
  const args = ['--armor', '--no-encrypt-to', '--recipient', fingerprint, '--encrypt'];
  const { code, stdout, stderr } = await runGpg(home, args, { stdin: content, third: '' });
  if (code === 0 && stdout.startsWith('-----BEGIN PGP MESSAGE-----')) return stdout;
  const reason = stderr.trim().split('\n').at(-1) ?? '';
  throw new SignatureError(`gpg cannot encrypt for the key ${fingerprint}: ${reason}`);
}

async function verify(home: string, payload: Buffer, signature: string): Promise<string> {
  assertOneBlock(signature);
  // The signature is passed through a third pipe, so that nothing is written to disk.
  const args = ['--status-fd', '1', '--enable-special-filenames', '--verify', '--', '-&3', '-'];
  const { stdout } = await runGpg(home, args, { stdin: payload, third: signature });
  return readStatus(stdout);
}

function assertOneBlock(signature: string): void {
  const lines = signature.trimEnd().split('\n');
  const armor = lines.filter((line) => line.startsWith('-----'));
  const isOne = lines[0] === GPG_ARMOR && lines.at(-1) === ARMOR_END && armor.length === 2;
  if (!isOne) {
    throw new SignatureError('it is incomplete, or surrounded by other data');
  }
}

/** Problem by gpg status word; empty: valid. gpg prints exactly one of these words per signature. */
const VERDICTS: Readonly<Record<string, string>> = {
  GOODSIG: '',
  BADSIG: 'it was not made for this commit',
  EXPSIG: 'it has expired',
  EXPKEYSIG: 'its key has expired',
  REVKEYSIG: 'its key was revoked',
  ERRSIG: 'its key is not in the keyring, or of a kind that gpg cannot use',
};

/** Parses the status lines of gpg (doc/DETAILS of GnuPG). */
function readStatus(status: string): string {
  const lines = status
    .split('\n')
    .filter((line) => line.startsWith('[GNUPG:] '))
    .map((line) => line.split(' ').slice(1));
  const verdicts = lines.flatMap(([word = '']) => VERDICTS[word] ?? []);
  // With two signatures in one block it would be unclear which one counts.
  if (verdicts.length > 1) throw new SignatureError('it contains several signatures');
  const [verdict = 'gpg cannot read it'] = verdicts;
  if (verdict !== '') throw new SignatureError(verdict);
  const valid = lines.find(([word]) => word === 'VALIDSIG');
  const [signatureClass, fingerprint] = [valid?.[9], valid?.[10]];
  // Class 01 signs text: commits that differ in line ends or trailing blanks would have the same signature.
  if (signatureClass !== '00') throw new SignatureError('it is a signature of text, not of bytes');
  if (fingerprint === undefined) throw new SignatureError('gpg does not report its key');
  return fingerprint;
}

/** Ample for one signature or a few keys. */
const DEADLINE_SECONDS = 60;
const MAX_OUTPUT = 16 * 1024 * 1024;

interface Input {
  readonly stdin: Buffer;
  /** Input for file descriptor 3. */
  readonly third: string;
}

function runGpg(
  home: string,
  args: readonly string[],
  input?: Input,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const gpgArgs = ['--homedir', home, ...ARGUMENTS, ...args];
    const [command, limited] = limitedCommand('gpg', gpgArgs, { cpuSeconds: DEADLINE_SECONDS });
    const child = spawn(command, limited, {
      cwd: home,
      env: { ...inheritedEnvironment(), LC_ALL: 'C', GNUPGHOME: home, HOME: join(home, 'none') },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      timeout: DEADLINE_SECONDS * 1000,
      killSignal: 'SIGKILL',
    });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => {
      output.stdout += chunk.toString('latin1');
      if (output.stdout.length > MAX_OUTPUT) child.kill('SIGKILL');
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output.stderr = (output.stderr + chunk.toString('latin1')).slice(-MAX_OUTPUT);
    });
    const third = child.stdio[3];
    if (!(third instanceof Writable)) throw new Error('gpg has no third pipe');
    // gpg may end before it has read all input. Its exit code and output decide.
    for (const pipe of [child.stdin, third]) pipe.on('error', () => undefined);
    child.stdin.end(input?.stdin ?? '');
    third.end(input?.third ?? '');
    const notStarted = (cause?: Error): void =>
      reject(
        new SignatureFileError('gpg cannot be started; install GnuPG 2.2 or newer', { cause }),
      );
    child.once('error', notStarted);
    child.once('close', (code) =>
      code === NOT_FOUND ? notStarted() : resolve({ code, ...output }),
    );
  });
}
