/** What opens secrets that are sealed in git, and seals those that the API brings. */
import { createHash } from 'node:crypto';
import type { Clock } from '../../apimachinery/clock.ts';
import { openIdentities } from '../../bootstrap/age-key.ts';
import type { DataDirectory } from '../../bootstrap/data-directory.ts';
import { Crew } from '../../catalog/crew/crew.ts';
import { type FileReader, fileReader } from '../../catalog/file-reader.ts';
import type { KindTable } from '../../kinds/table.ts';
import type { Branch } from '../../registry/branch.ts';
import { Sealer } from '../../registry/sealer.ts';
import { Keyring } from '../../sealing/data-keys.ts';
import { isNewState } from '../../state/lmdb-files.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { DaemonOptions } from '../options.ts';

export interface Secrets {
  readonly reader: FileReader;
  readonly sealer: Sealer;
  /** Differs with the keys. */
  readonly fingerprint: string;
  /** Says for whom to seal, and what is amiss where nothing is sealed, once the branch was read. */
  tell(branch: Branch): void;
  close(): Promise<void>;
}

/** Makes the key of this platform where there is none. Throws StartError. */
export async function openSecrets(of: {
  readonly options: DaemonOptions;
  readonly data: DataDirectory;
  readonly kinds: KindTable;
  readonly clock: Clock;
  readonly logger: Logger;
}): Promise<Secrets> {
  const { options, data, kinds, clock, logger } = of;
  const opened = await openIdentities({ own: data.ageKey, given: options.ageKeyFiles });
  const { identities, recipient } = opened;
  const keyring = new Keyring(identities);
  const mindsClear = !options.allowPlaintextSecrets;
  const { apiGroup, under } = options;
  const crew = new Crew({ apiGroup, under, secrets: { identities, mindsClear } });
  // All of the branch will be read then: that begins while everything else is opened.
  const ref = `refs/heads/${options.branch}`;
  if (isNewState(data.state)) crew.expect({ gitDir: data.repository }, ref);
  return {
    reader: { ...fileReader(kinds, under, { keyring, mindsClear }), crew },
    fingerprint: createHash('sha256').update(identities.toSorted().join()).digest('hex'),
    sealer: new Sealer({ keyring, kinds, clock }),
    tell: (branch) => {
      crew.settle();
      if (branch.state.view.sealing !== undefined) {
        logger.info({ recipient }, 'Secrets are sealed in git');
        return;
      }
      const remedy = `gitplane seal --init --recipient ${recipient}`;
      const words = 'Secrets are in git in the clear: the repository has no .sops.yaml';
      logger.warn({ recipient, remedy }, words);
    },
    close: async () => crew.close(),
  };
}
