/** Finds the signer of a commit among the keys of the operator. */
import { type AllowedSigner, matchesPatterns } from './allowed-signers.ts';
import { GPG_ARMOR, type GpgKeyring } from './gpg-keyring.ts';
import { SignatureError } from './signature-error.ts';
import { parseSignedCommit, type SignedCommit } from './signed-commit.ts';
import { parsePublicKey, type SshPublicKey } from './ssh-public-key.ts';
import {
  GIT_NAMESPACE,
  parseSshSignature,
  SSH_ARMOR,
  type SshSignature,
  signedBytes,
} from './ssh-signature.ts';
import { WireReader } from './ssh-wire.ts';

export interface Signer {
  /** Name for messages. */
  readonly name: string;
  /** True if an identity in a policy stands for this signer. */
  is(identity: string): boolean;
}

export interface TrustedKeys {
  readonly ssh: readonly AllowedSigner[];
  readonly gpg: GpgKeyring | undefined;
  /** Key of the daemon. Commits signed with it have passed the checks of the API. */
  readonly own: SshPublicKey | undefined;
}

/** Undefined: the commit is not signed. Throws SignatureError for an invalid signature. */
export async function signerOf(
  keys: TrustedKeys,
  commit: SignedCommit,
  now: number,
): Promise<Signer | undefined> {
  const { signature, payload } = commit;
  if (signature === undefined) return undefined;
  if (signature.startsWith(SSH_ARMOR)) return sshSigner(keys, commit, { signature, now });
  if (!signature.startsWith(GPG_ARMOR)) {
    throw new SignatureError('it is neither an SSH nor an OpenPGP signature');
  }
  if (keys.gpg === undefined) throw new SignatureError('no OpenPGP key is trusted here');
  return gpgSigner(await keys.gpg.verify(payload, signature));
}

/** True if the key signed the commit. Undefined: true if the commit is not signed. */
export function isSignedBy(key: SshPublicKey | undefined, content: Buffer): boolean {
  try {
    const { signature, payload } = parseSignedCommit(content);
    if (signature === undefined || key === undefined) return signature === key;
    const parsed = parseSshSignature(signature);
    if (parsed.namespace !== GIT_NAMESPACE || !key.blob.equals(parsed.publicKey)) return false;
    assertSigned(key, parsed, payload);
    return true;
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    return false;
  }
}

/** True if any key, even an expired one, belongs to an identity in a policy. */
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
    const namespace = JSON.stringify(parsed.namespace.slice(0, 60));
    throw new SignatureError(`it was made for ${namespace}, not for "${GIT_NAMESPACE}"`);
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
  // The time of a commit can be forged, so an expired key must not sign old commits.
  const usable = entries.filter(
    (entry) => invalidity(entry, [committerTime * 1000, now]) === undefined,
  );
  if (usable.length === 0) {
    throw new SignatureError(`its key is ${invalidity(first, [committerTime * 1000, now])}`);
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
    return `its key of type ${JSON.stringify(new WireReader(publicKey).text().slice(0, 60))}`;
  }
}

/** Reason why an entry is not valid at these times; undefined: it is valid. */
function invalidity(entry: AllowedSigner, times: readonly number[]): string | undefined {
  const { principals, namespaces, validAfter, validBefore } = entry;
  const owner = `that of ${principals}, `;
  if (namespaces !== undefined && !matchesPatterns(GIT_NAMESPACE, namespaces)) {
    return `${owner}which is for ${namespaces} only`;
  }
  if (validAfter !== undefined && times.some((time) => time < validAfter)) {
    return `${owner}which is not valid before ${new Date(validAfter).toISOString()}`;
  }
  if (validBefore !== undefined && times.some((time) => time > validBefore)) {
    return `${owner}which expired on ${new Date(validBefore).toISOString()}`;
  }
  return undefined;
}
