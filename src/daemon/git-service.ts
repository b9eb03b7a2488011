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
import type { GitService, PushOutcome } from '../server/dependencies.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Platform } from './platform.ts';

export interface PushReception {
  /** Begins to judge; pushes that came before wait for it. */
  open(platform: Platform): Promise<void>;
  service(follower: RepositoryFollower): GitService;
  close(): Promise<void>;
}

/** A push over HTTP, while it lasts. */
interface Push {
  readonly user: User;
  outcome: PushOutcome | undefined;
}

const NO_ID = /^0+$/;

/** Also keeps a second daemon off the data directory: the socket has one owner. */
export async function receivePushes(dataDir: string, logger: Logger): Promise<PushReception> {
  const pushes = new Map<string, Push>();
  let opened: (platform: Platform) => void = () => undefined;
  const ready = new Promise<Platform>((resolve) => {
    opened = resolve;
  });
  let platform: Platform | undefined;
  const listener = await listenForPushes(
    pushSocketPath(dataDir),
    async (push) => await judge(await ready, push, { pushes, logger }),
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
      return { repository, readOnly, beginPush: (user) => beginPush(pushes, user, follower) };
    },
    close: () => listener.close(),
  };
}

function beginPush(
  pushes: Map<string, Push>,
  user: User,
  follower: RepositoryFollower,
): ReturnType<GitService['beginPush']> {
  const id = randomUUID();
  const push: Push = { user, outcome: undefined };
  pushes.set(id, push);
  return {
    env: { GITPLANE_PUSH_ID: id },
    end: async () => {
      pushes.delete(id);
      await follower.catchUp();
      return push.outcome;
    },
  };
}

async function judge(
  platform: Platform,
  push: PushRequest,
  { pushes, logger }: { pushes: ReadonlyMap<string, Push>; logger: Logger },
): Promise<PushVerdict> {
  const id = push.env.GITPLANE_PUSH_ID;
  const known = id === undefined ? undefined : pushes.get(id);
  const user = known?.user;
  if (id !== undefined && known === undefined) {
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
    const moved = updates.find(({ ref }) => ref === platform.repository.ref);
    if (known !== undefined) {
      known.outcome = { result, revision: moved?.newId, previous: moved?.oldId };
    }
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
