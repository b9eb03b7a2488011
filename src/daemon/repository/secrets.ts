/** Decrypts secrets in git, and encrypts the secrets that the API writes. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../../apimachinery/index.ts';
import {
  type DataDirectory,
  type MissingKeys,
  missingKeys,
  openIdentities,
} from '../../bootstrap/index.ts';
import { type FileReader, fileReader, ReaderPool } from '../../catalog/index.ts';
import { Counter } from '../../concurrency/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import { type Branch, Sealer } from '../../registry/index.ts';
import { Keyring, SOPS } from '../../sealing/index.ts';
import { openGpgKeyring } from '../../signatures/index.ts';
import { isNewState } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { DaemonOptions } from '../options.ts';

interface SecretsObservation {
  report(check: 'secrets', problem: string | undefined): void;
}

export interface Secrets {
  readonly reader: FileReader;
  /** Counts the files that are read. */
  readonly counter: Counter;
  readonly sealer: Sealer;
  /** Changes with the keys. */
  readonly fingerprint: string;
  /** Logs the recipient of secrets, and problems with keys, once the branch was read. */
  report(branch: Branch, observation: SecretsObservation): Promise<void>;
  close(): Promise<void>;
}

interface KeyPlace {
  readonly options: Pick<DaemonOptions, 'branch' | 'ageKeyFiles' | 'maxPaths'>;
  readonly data: Pick<DataDirectory, 'repository' | 'ageKey'>;
}

/**
 * Age identities of this platform. Creates `age.key` when it is missing, unless files of the branch are
 * encrypted for keys that are not here. Throws StartError.
 */
export function ensureIdentities({ options, data }: KeyPlace): ReturnType<typeof openIdentities> {
  const missing = missingIn({ options, data });
  return openIdentities({ own: data.ageKey, given: options.ageKeyFiles, missing });
}

function missingIn({
  options,
  data,
}: KeyPlace): (here: readonly string[]) => Promise<MissingKeys | undefined> {
  const ref = `refs/heads/${options.branch}`;
  return (here) => missingKeys({ gitDir: data.repository, ref, here, maxPaths: options.maxPaths });
}

/** Creates `age.key` when it is missing. Throws StartError. */
export async function openSecrets(of: {
  readonly options: DaemonOptions;
  readonly data: DataDirectory;
  readonly kinds: KindTable;
  readonly clock: Clock;
  readonly logger: Logger;
}): Promise<Secrets> {
  const { options, data, kinds, clock, logger } = of;
  const ref = `refs/heads/${options.branch}`;
  const missing = missingIn({ options, data });
  const own = data.ageKey;
  const opened = await ensureIdentities({ options, data });
  const { identities, recipient } = opened;
  const keyring = new Keyring(identities, { marks: true });
  const mindsClear = !options.allowPlaintextSecrets;
  const pgpHome = join(data.root, 'run', 'gnupg-recipients');
  const pgpKeys = options.pgpKeys && (await openGpgKeyring(options.pgpKeys, pgpHome));
  const { apiGroup, under } = options;
  const counter = new Counter();
  const pool = new ReaderPool({ apiGroup, under, secrets: { identities, mindsClear }, counter });
  // A new state reads the whole branch, so the workers begin while other parts are opened.
  if (isNewState(data.state)) pool.expect({ gitDir: data.repository }, ref);
  return {
    reader: { ...fileReader(kinds, under, { keyring, mindsClear }), pool, counter },
    counter,
    fingerprint: createHash('sha256').update(identities.toSorted().join()).digest('hex'),
    sealer: new Sealer({ keyring, kinds, clock, ...(pgpKeys && { pgpKeys }) }),
    report: async (branch, observation) => {
      pool.settle();
      const here = await keyring.recipients();
      const lost = opened.missing ?? (hasSealProblem(branch) ? await missing(here) : undefined);
      if (lost !== undefined) reportMissing(lost, { own, recipient, logger, observation });
      if (branch.state.view.sealing !== undefined) {
        logger.info({ recipient }, 'Secrets are sealed in git');
        return;
      }
      if (recipient === undefined) return;
      const remedy = `gitplane seal --init --recipient ${recipient}`;
      const words = 'Secrets are in git in the clear: the repository has no .sops.yaml';
      logger.warn({ recipient, remedy }, words);
    },
    close: async () => pool.close(),
  };
}

/** Files are read again only if a file could not be decrypted. */
function hasSealProblem(branch: Branch): boolean {
  for (const { problems } of branch.state.catalog.objects()) {
    if (problems.some(({ message }) => message.startsWith(`${SOPS}: `))) return true;
  }
  return false;
}

function reportMissing(
  { recipients: missing, files, all }: MissingKeys,
  of: {
    readonly own: string;
    readonly recipient: string | undefined;
    readonly logger: Logger;
    readonly observation: SecretsObservation;
  },
): void {
  const { own, recipient, logger, observation } = of;
  const remedy =
    `Put ${own} back, or give the old key as --age-key-file, and start again. ` +
    `Where every key is lost: make one with age-keygen -o ${own}, and write the secrets anew`;
  logger.error({ missing, files, recipient, remedy }, 'Encrypted files cannot be decrypted');
  // A file that is encrypted only for other recipients must not take the platform out of service.
  if (!all) return;
  const why =
    recipient === undefined
      ? 'age.key is missing, and git is encrypted for a key that is not here; no new key was created'
      : `${files} sealed files cannot be opened: their keys are not here`;
  observation.report('secrets', why);
}
