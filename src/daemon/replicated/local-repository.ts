/** The repository on the disk of a replica, before a leader is known. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '../../bootstrap/index.ts';
import {
  initRepository,
  REF_LOCK_FOLDER,
  Reader,
  readRef,
  realFiles,
  replayWal,
  runGit,
  stopFollowing,
} from '../../git/index.ts';
import type { Logger } from '../../telemetry/index.ts';

export interface LocalRepository {
  readonly gitDir: string;
  /** Full name of the branch. */
  readonly ref: string;
  isEmpty(): Promise<boolean>;
  /** Number of commits of the branch: a measure of the history on this disk. */
  commits(): Promise<number>;
  /** Throws StartError when the history on this disk is that of another platform. */
  assertRoot(root: string): Promise<void>;
}

export async function openLocalRepository(of: {
  readonly gitDir: string;
  readonly branch: string;
  readonly logger: Logger;
}): Promise<LocalRepository> {
  const { gitDir, branch, logger } = of;
  const ref = `refs/heads/${branch}`;
  stopFollowing(gitDir);
  await initRepository({ gitDir, branch });
  await mkdir(join(gitDir, REF_LOCK_FOLDER), { recursive: true });
  await replayWal(gitDir, { files: realFiles, logger, isOwn: true });
  return {
    gitDir,
    ref,
    isEmpty: async () => (await readRef(gitDir, ref)) === undefined,
    commits: async () => {
      const head = await readRef(gitDir, ref);
      if (head === undefined) return 0;
      return Number((await runGit({ gitDir }, ['rev-list', '--count', head])).toString());
    },
    assertRoot: async (root) => {
      const head = await readRef(gitDir, ref);
      if (head === undefined) return;
      const reader = new Reader({ gitDir });
      try {
        const own = await reader.rootCommit(head);
        if (own === root) return;
        throw new StartError(
          `${gitDir} has the history of another platform (it begins with ${own}, that in etcd with ${root}): use another --data-dir or --etcd-prefix`,
        );
      } finally {
        await reader.close();
      }
    },
  };
}
