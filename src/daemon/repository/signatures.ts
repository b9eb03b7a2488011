/** Commit signatures: the signing key of the daemon, and the policy for pushed commits. */
import { join } from 'node:path';
import type { Clock } from '../../apimachinery/index.ts';
import type { DataDirectory } from '../../bootstrap/index.ts';
import type { SignCommit } from '../../git/index.ts';
import {
  type CommitSigner,
  isSignedBy,
  openCommitSigner,
  PolicySource,
  SignatureInspector,
  SignatureJudge,
} from '../../signatures/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { DaemonOptions } from '../options.ts';

export interface Signatures {
  /** Signs a commit; undefined: no key is configured. */
  readonly sign: SignCommit | undefined;
  /** False for the bytes of a commit whose signature a copy by this process would replace or lose. */
  readonly mayCopy: (commit: Buffer) => boolean;
  /** Undefined: signatures are not required. */
  readonly judge: SignatureJudge | undefined;
  readonly inspector: SignatureInspector;
  close(): Promise<void>;
}

export interface SignatureParts {
  readonly options: Pick<DaemonOptions, 'signatures' | 'commitKey'>;
  readonly data: Pick<DataDirectory, 'root'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Throws when a configured file cannot be used. */
export async function openSignatures(parts: SignatureParts): Promise<Signatures> {
  const { options, data, clock, logger } = parts;
  const signer =
    options.commitKey === undefined ? undefined : await openCommitSigner(options.commitKey);
  const own = signer?.publicKey;
  const gpgHome = join(data.root, 'run', 'gnupg');
  const policy =
    options.signatures === undefined
      ? undefined
      : await PolicySource.open({ files: options.signatures, gpgHome, own });
  const judge = policy && new SignatureJudge(policy, clock);
  const inspector = new SignatureInspector({ policy, own, clock });
  tell(logger, signer, judge);
  return {
    sign: signer?.sign,
    mayCopy: (commit) => isSignedBy(own, commit),
    judge,
    inspector,
    close: async () => judge?.close(),
  };
}

function tell(
  logger: Logger,
  signer: CommitSigner | undefined,
  judge: SignatureJudge | undefined,
): void {
  if (signer !== undefined) {
    logger.info({ key: signer.publicKey.fingerprint }, 'Commits of the API are signed');
  } else if (judge !== undefined) {
    logger.warn(
      'Pushed commits must be signed, and commits of the API are not: give --signing-key',
    );
  }
}
