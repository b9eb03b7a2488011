/**
 * The current policy of the files of the operator. They are checked at every use: a key that is removed
 * from a file is refused from the next push on, without a restart.
 */
import { createHash } from 'node:crypto';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllowedSigners } from './allowed-signers.ts';
import { openGpgKeyring } from './gpg-keyring.ts';
import { type PathRules, parsePathRules, SIGN_EVERYTHING } from './path-rules.ts';
import { SignatureFileError } from './signature-error.ts';
import type { SshPublicKey } from './ssh-public-key.ts';
import { isKnown, type TrustedKeys } from './verify-signature.ts';

export interface PolicyFiles {
  readonly allowedSigners: string | undefined;
  readonly gpgKeyring: string | undefined;
  readonly rules: string | undefined;
}

export interface SignaturePolicyOptions {
  readonly files: PolicyFiles;
  /** Private folder for gpg; removed and recreated. */
  readonly gpgHome: string;
  readonly own: SshPublicKey | undefined;
}

export interface SignaturePolicy {
  readonly keys: TrustedKeys;
  readonly rules: PathRules;
}

export class PolicySource {
  readonly #options: SignaturePolicyOptions;
  #fingerprint = '';
  #policy: Promise<SignaturePolicy>;

  private constructor(options: SignaturePolicyOptions, initial: string) {
    this.#options = options;
    this.#fingerprint = initial;
    this.#policy = load(options);
  }

  /** Throws SignatureFileError if a file cannot be used. */
  static async open(options: SignaturePolicyOptions): Promise<PolicySource> {
    await rm(options.gpgHome, { recursive: true, force: true });
    const source = new PolicySource(options, await fingerprint(options.files));
    await source.#policy;
    return source;
  }

  /** Policy of the current files. Rejects with SignatureFileError if one cannot be used. */
  async current(): Promise<SignaturePolicy> {
    const current = await fingerprint(this.#options.files);
    if (current !== this.#fingerprint) {
      this.#fingerprint = current;
      this.#policy = load(this.#options);
      this.#policy.catch(() => undefined);
    }
    return await this.#policy;
  }

  async close(): Promise<void> {
    await this.#policy.catch(() => undefined);
    await rm(this.#options.gpgHome, { recursive: true, force: true });
  }
}

/** Text that changes when a file is edited or replaced. */
async function fingerprint(files: PolicyFiles): Promise<string> {
  const paths = [files.allowedSigners, files.gpgKeyring, files.rules];
  const facts = paths.map(async (path) => {
    if (path === undefined) return '';
    const found = await stat(path, { bigint: true }).catch(() => undefined);
    return found === undefined
      ? 'missing'
      : [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ');
  });
  return (await Promise.all(facts)).join('|');
}

async function load({ files, gpgHome, own }: SignaturePolicyOptions): Promise<SignaturePolicy> {
  const { allowedSigners, gpgKeyring, rules } = files;
  const keys: TrustedKeys = {
    ssh:
      allowedSigners === undefined
        ? []
        : parseAllowedSigners((await read(allowedSigners)).toString('utf8'), allowedSigners),
    gpg:
      gpgKeyring === undefined
        ? undefined
        : await openGpgKeyring(gpgKeyring, join(gpgHome, digestOf(await read(gpgKeyring)))),
    own,
  };
  const parsed =
    rules === undefined
      ? SIGN_EVERYTHING
      : parsePathRules((await read(rules)).toString('utf8'), rules);
  for (const signer of parsed.rules.flatMap(({ signers = [] }) => signers)) {
    if (isKnown(keys, signer)) continue;
    throw new SignatureFileError(
      `Cannot use the signature policy ${rules}: no key belongs to ${JSON.stringify(signer)}; name a principal of the allowed signers, or the fingerprint of a key`,
    );
  }
  return { keys, rules: parsed };
}

/** Each keyring gets a folder of its own, since the previous one may still be in use. */
function digestOf(content: Buffer): string {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 16);
  return `${digest}-${process.hrtime.bigint()}`;
}

async function read(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SignatureFileError(`Cannot read ${path}: ${reason}`, { cause: error });
  }
}
