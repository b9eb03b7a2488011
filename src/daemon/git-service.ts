/**
 * Pushes, over HTTP and by path: one hook for both. The hook asks over a socket; whoever pushed
 * over HTTP is known by a number that only the server's own child process carries.
 */
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { User } from '../apimachinery/request.ts';
import type { RepositoryFollower } from '../controllers/repository.ts';
import { installHooks } from '../git/hook.ts';
import type { PushRequest, PushVerdict } from '../git/hook-protocol.ts';
import { listenForPushes, pushSocketPath } from '../git/hook-server.ts';
import { withQuarantine } from '../git/quarantine.ts';
import { removeStaleLocks } from '../git/stale-lock.ts';
import type { GitService } from '../server/dependencies.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Platform } from './platform.ts';

export interface PushReception {
  /** Begins to judge; pushes that came before wait for it. */
  open(platform: Platform): Promise<void>;
  service(follower: RepositoryFollower): GitService;
  close(): Promise<void>;
}

const NO_ID = /^0+$/;

/** Also keeps a second daemon off the data directory: the socket has one owner. */
export async function receivePushes(dataDir: string, logger: Logger): Promise<PushReception> {
  const users = new Map<string, User>();
  let opened: (platform: Platform) => void = () => undefined;
  const ready = new Promise<Platform>((resolve) => {
    opened = resolve;
  });
  let platform: Platform | undefined;
  const listener = await listenForPushes(
    pushSocketPath(dataDir),
    async (push) => await judge(await ready, push, { users, logger }),
    logger,
  );
  return {
    open: async (opening) => {
      platform = opening;
      const command = [...hookProgram(), listener.socketPath];
      await installHooks(opening.repository.gitDir, { command });
      opened(opening);
    },
    service: (follower) => {
      if (platform === undefined) throw new Error('Pushes are served before the platform is open');
      const { repository, following } = platform;
      const readOnly = following?.pushElsewhere;
      return { repository, readOnly, beginPush: (user) => beginPush(users, user, follower) };
    },
    close: () => listener.close(),
  };
}

function beginPush(
  users: Map<string, User>,
  user: User,
  follower: RepositoryFollower,
): ReturnType<GitService['beginPush']> {
  const id = randomUUID();
  users.set(id, user);
  return {
    env: { GITPLANE_PUSH_ID: id },
    end: async () => {
      users.delete(id);
      await follower.catchUp();
    },
  };
}

async function judge(
  platform: Platform,
  push: PushRequest,
  { users, logger }: { users: ReadonlyMap<string, User>; logger: Logger },
): Promise<PushVerdict> {
  const id = push.env.GITPLANE_PUSH_ID;
  const user = id === undefined ? undefined : users.get(id);
  if (id !== undefined && user === undefined) {
    return { ok: false, lines: ['This push is no longer known; push again'] };
  }
  // Git asks before it locks anything: what is locked by nobody now would be in its way.
  await removeStaleLocks(platform.repository.gitDir, platform.repository.ref);
  const { GITPLANE_PUSH_ID: _id, ...quarantine } = push.env;
  if (platform.following !== undefined) {
    return { ok: false, lines: [platform.following.pushElsewhere] };
  }
  const source = await withQuarantine(platform.repository, quarantine);
  try {
    const updates = push.updates.map(({ ref, oldId, newId }) => ({
      ref,
      oldId: NO_ID.test(oldId) ? undefined : oldId,
      newId: NO_ID.test(newId) ? undefined : newId,
    }));
    const verdict = await platform.judge.judge({ updates, user, source });
    const result = verdict.ok ? 'accepted' : 'refused';
    platform.observation.metrics.pushes.inc({ result });
    logger.info({ user: user?.name ?? 'operator', result, updates }, 'Push judged');
    return verdict;
  } finally {
    await source.close();
  }
}

/** The hook as a command: the built file, or the source through tsx while developing. */
function hookProgram(): string[] {
  const isSource = import.meta.url.endsWith('.ts');
  const script = new URL(`../git/hook-client.${isSource ? 'ts' : 'js'}`, import.meta.url);
  const loader = isSource
    ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href]
    : [];
  return [process.execPath, ...loader, fileURLToPath(script)];
}
