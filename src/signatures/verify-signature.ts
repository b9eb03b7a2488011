/** Who signed a commit, told from the keys that the operator named. */
import { type AllowedSigner, matchesPatterns } from './allowed-signers.ts';
import { GPG_ARMOR, type GpgKeyring } from './gpg-keyring.ts';
import { SignatureError } from './signature-error.ts';
import type { SignedCommit } from './signed-commit.ts';
import { parsePublicKey, type SshPublicKey, typeOfKey } from './ssh-public-key.ts';
import {
  GIT_NAMESPACE,
  parseSshSignature,
  SSH_ARMOR,
  type SshSignature,
  signedBytes,
} from './ssh-signature.ts';

export interface Signer {
  /** As people know it. */
  readonly name: string;
  /** Whether a name of a policy means this signer. */
  is(identity: string): boolean;
}

export interface TrustedKeys {
  readonly ssh: readonly AllowedSigner[];
  readonly gpg: GpgKeyring | undefined;
  /** The daemon's own key: what it signed passed the checks of the API. */
  readonly own: SshPublicKey | undefined;
}

/** Undefined: the commit is not signed. Throws SignatureError when its signature does not count. */
export async function signerOf(
  keys: TrustedKeys,
  commit: SignedCommit,
  now: number,
): Promise<Signer | undefined> {
  const { signature, payload } = commit;
  if (signature === undefined) return undefined;
  if (signature.startsWith(SSH_ARMOR)) return sshSigner(keys, commit, { signature, now });
  if (!signature.startsWith(GPG_ARMOR)) {
    throw new SignatureError('it is neither of SSH nor of OpenPGP');
  }
  if (keys.gpg === undefined) throw new SignatureError('no OpenPGP key is trusted here');
  return gpgSigner(await keys.gpg.verify(payload, signature));
}

/** Whether any key, valid now or not, belongs to a name of a policy. */
export function isKnown(keys: TrustedKeys, identity: string): boolean {
  return (
    keys.gpg?.fingerprints.has(identity) === true ||
    keys.ssh.some((entry) => isEntry(entry, identity))
  );
}

function gpgSigner(fingerprint: string): Signer {
  return { name: `OpenPGP key ${fingerprint}`, is: (identity) => identity === fingerprint };
}

function sshSigner(
  keys: TrustedKeys,
  { payload, committerTime }: SignedCommit,
  { signature, now }: { signature: string; now: number },
): Signer {
  const parsed = parseSshSignature(signature);
  if (parsed.namespace !== GIT_NAMESPACE) {
    const made = JSON.stringify(parsed.namespace.slice(0, 60));
    throw new SignatureError(`it was made for ${made}, not for "${GIT_NAMESPACE}"`);
  }
  if (keys.own?.blob.equals(parsed.publicKey)) {
    assertSigned(keys.own, parsed, payload);
    return { name: 'gitplane', is: () => true };
  }
  const entries = keys.ssh.filter(({ key }) => key.blob.equals(parsed.publicKey));
  const [first] = entries;
  if (first === undefined)
    throw new SignatureError(`${describeKey(parsed)} is not an allowed signer`);
  assertSigned(first.key, parsed, payload);
  // A commit may lie about its time: an expired key must not sign the past.
  const usable = entries.filter(
    (entry) => whyNot(entry, [committerTime * 1000, now]) === undefined,
  );
  if (usable.length === 0) {
    throw new SignatureError(`its key is ${whyNot(first, [committerTime * 1000, now])}`);
  }
  return {
    name: usable.map(({ principals }) => principals).join(', '),
    is: (identity) => usable.some((entry) => isEntry(entry, identity)),
  };
}

function isEntry({ principals, key }: AllowedSigner, identity: string): boolean {
  return identity === key.fingerprint || matchesPatterns(identity, principals);
}

function assertSigned(key: SshPublicKey, signature: SshSignature, payload: Buffer): void {
  if (key.verify(signedBytes(payload, signature), signature.signature)) return;
  throw new SignatureError('it was not made for this commit');
}

function describeKey({ publicKey }: SshSignature): string {
  try {
    return `its key ${parsePublicKey(publicKey).fingerprint}`;
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    return `its key of type ${JSON.stringify(typeOfKey(publicKey).slice(0, 60))}`;
  }
}

/** Why a line of allowed signers does not count at these times; undefined when it does. */
function whyNot(entry: AllowedSigner, times: readonly number[]): string | undefined {
  const { principals, namespaces, validAfter, validBefore } = entry;
  const whose = `that of ${principals}, `;
  if (namespaces !== undefined && !matchesPatterns(GIT_NAMESPACE, namespaces)) {
    return `${whose}which is for ${namespaces} only`;
  }
  if (validAfter !== undefined && times.some((time) => time < validAfter)) {
    return `${whose}which is not valid before ${new Date(validAfter).toISOString()}`;
  }
  if (validBefore !== undefined && times.some((time) => time > validBefore)) {
    return `${whose}which expired on ${new Date(validBefore).toISOString()}`;
  }
  return undefined;
}
