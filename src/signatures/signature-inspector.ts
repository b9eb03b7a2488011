/** Signatures of commits for readers of the history: judged with the keys of now, and refusing nothing. */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../apimachinery/index.ts';
import { Mutex, mapLimit } from '../concurrency/index.ts';
import type { Repository } from '../git/index.ts';
import { SignatureError, SignatureFileError } from './signature-error.ts';
import type { PolicySource } from './signature-policy.ts';
import { parseSignedCommit } from './signed-commit.ts';
import type { SshPublicKey } from './ssh-public-key.ts';
import { signerOf, type TrustedKeys } from './verify-signature.ts';

export interface CommitSignature {
  /** `unchecked`: it is signed, and this daemon has no keys to check it with. */
  readonly state: 'unsigned' | 'trusted' | 'untrusted' | 'unchecked';
  readonly signer?: string;
  /** Reason why the signature is not trusted. */
  readonly message?: string;
}

export interface SignatureInspectorParts {
  /** Undefined: signatures are not required. */
  readonly policy: PolicySource | undefined;
  readonly own: SshPublicKey | undefined;
  readonly clock: Clock;
}

/** gpg processes, and commits in memory, at a time. */
const AT_ONCE = 4;
const MOST_KNOWN = 5000;
/** A key that is removed or expires is noticed after this time. */
const KNOWN_MS = 60_000;

export class SignatureInspector {
  readonly #parts: SignatureInspectorParts;
  readonly #mutex = new Mutex();
  readonly #known = new LRUCache<string, CommitSignature>({ max: MOST_KNOWN, ttl: KNOWN_MS });

  constructor(parts: SignatureInspectorParts) {
    this.#parts = parts;
  }

  /** In the order of the ids. */
  async inspect(
    repository: Pick<Repository, 'readCommits'>,
    ids: readonly string[],
  ): Promise<readonly CommitSignature[]> {
    const found = new Map(ids.map((id) => [id, this.#known.get(id)]));
    const missing = [...found].filter(([, known]) => known === undefined).map(([id]) => id);
    if (missing.length > 0) {
      // Many readers together start no more processes of gpg than one.
      const judged = await this.#mutex.run(() => this.#judgeAll(repository, missing));
      for (const [at, id] of missing.entries()) found.set(id, judged[at]);
    }
    return ids.map((id) => found.get(id) ?? UNSIGNED);
  }

  async #judgeAll(
    repository: Pick<Repository, 'readCommits'>,
    ids: readonly string[],
  ): Promise<readonly CommitSignature[]> {
    const keys = await this.#keys();
    const judged = await mapLimit(ids, AT_ONCE, async (id) => {
      const [content = Buffer.alloc(0)] = await repository.readCommits([id]);
      return await this.#judge(content, keys);
    });
    for (const [at, id] of ids.entries()) this.#known.set(id, judged[at] ?? UNSIGNED);
    return judged;
  }

  /** A text: the reason why the keys cannot be read. */
  async #keys(): Promise<TrustedKeys | string> {
    const { policy, own } = this.#parts;
    if (policy === undefined) return { ssh: [], gpg: undefined, own };
    try {
      return (await policy.current()).keys;
    } catch (error) {
      if (!(error instanceof SignatureFileError)) throw error;
      return 'the keys of this daemon cannot be read';
    }
  }

  async #judge(content: Buffer, keys: TrustedKeys | string): Promise<CommitSignature> {
    try {
      const commit = parseSignedCommit(content);
      if (commit.signature === undefined) return UNSIGNED;
      if (typeof keys === 'string') return { state: 'unchecked', message: keys };
      const signer = await signerOf(keys, commit, this.#parts.clock.now());
      return signer === undefined ? UNSIGNED : { state: 'trusted', signer: signer.name };
    } catch (error) {
      if (!(error instanceof SignatureError)) throw error;
      if (this.#parts.policy === undefined) return { state: 'unchecked' };
      return { state: 'untrusted', message: error.message };
    }
  }
}

const UNSIGNED: CommitSignature = { state: 'unsigned' };
