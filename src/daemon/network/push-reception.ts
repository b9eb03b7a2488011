/**
 * Pushes over HTTP and by path, through one pre-receive hook. The hook asks the daemon over a socket. A
 * random id in the environment of the server's own child process identifies the user of an HTTP push.
 */
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { User } from '../../apimachinery/index.ts';
import type { RepositoryFollower } from '../../controllers/index.ts';
import {
  installHooks,
  listenForPushes,
  type PushRequest,
  type PushVerdict,
  pushSocketPath,
  refObjections,
  removeStaleLocks,
  withQuarantine,
} from '../../git/index.ts';
import type { PushedRange } from '../../registry/index.ts';
import type { GitService, PushOutcome } from '../../server/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Platform } from '../platform.ts';

export interface PushReception {
  /** Installs the hook in a repository. */
  install(gitDir: string): Promise<void>;
  /** Begins to judge pushes; those that came before wait for it. */
  open(platform: Platform): Promise<void>;
  /** Refuses pushes until the reception is opened again. */
  refuse(reason: string): void;
  service(follower: RepositoryFollower): GitService;
  close(): Promise<void>;
}

/** An HTTP push in progress. */
interface Push {
  readonly user: User;
  outcome: PushOutcome | undefined;
}

const NO_ID = /^0+$/;

/** Only one process can own the socket, so this also keeps a second daemon off the data directory. */
export async function openPushReception(dataDir: string, logger: Logger): Promise<PushReception> {
  const pushes = new Map<string, Push>();
  let platform: Platform | undefined;
  let refusal: string | undefined;
  let waiting: (() => void)[] = [];
  const release = (): void => {
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  const listener = await listenForPushes(
    pushSocketPath(dataDir),
    async (push) => {
      const isUndecided = platform === undefined && refusal === undefined;
      if (isUndecided) await new Promise<void>((resolve) => waiting.push(resolve));
      if (platform !== undefined) return await judge(platform, push, { pushes, logger });
      return { ok: false, lines: [refusal ?? 'This repository is closed'] };
    },
    logger,
  );
  const install = (gitDir: string): Promise<void> =>
    installHooks(gitDir, { command: [...hookProgram(), listener.socketPath] });
  return {
    install,
    open: async (opening) => {
      await install(opening.repository.gitDir);
      platform = opening;
      refusal = undefined;
      release();
    },
    refuse: (reason) => {
      platform = undefined;
      refusal = reason;
      release();
    },
    service: (follower) => {
      if (platform === undefined) throw new Error('The platform is not open yet');
      const { repository, following } = platform;
      const readOnly = following?.pushRefusal;
      return { repository, readOnly, beginPush: (user) => beginPush(pushes, user, follower) };
    },
    close: () => {
      release();
      return listener.close();
    },
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
    return { ok: false, lines: ['The daemon no longer knows this push; push again'] };
  }
  // Git runs the hook before it locks refs, so a lock that no process holds would block this push.
  await removeStaleLocks(platform.repository.gitDir, platform.repository.ref);
  const { GITPLANE_PUSH_ID: _id, ...quarantine } = push.env;
  if (platform.following !== undefined) {
    return { ok: false, lines: [platform.following.pushRefusal] };
  }
  const { refusal } = platform.branch;
  if (refusal !== undefined) return { ok: false, lines: [refusal] };
  const elsewhere = push.updates.find(({ ref }) => ref !== platform.repository.ref);
  if (platform.led !== undefined && elsewhere !== undefined) {
    return { ok: false, lines: [onlyOneBranch(platform.repository.ref, elsewhere.ref)] };
  }
  const updates = push.updates.map(({ ref, oldId, newId }) => ({
    ref,
    oldId: NO_ID.test(oldId) ? undefined : oldId,
    newId: NO_ID.test(newId) ? undefined : newId,
  }));
  const { led, repository } = platform;
  const refs = await refObjections(repository, updates);
  if (refs.length > 0) return { ok: false, lines: [...refs, 'nothing was changed'] };
  const source = await withQuarantine(repository, quarantine, { maxPaths: repository.maxPaths });
  try {
    const admission = led && {
      admit: (range: PushedRange) =>
        led.admit({ gitDir: repository.gitDir, env: quarantine }, range),
      arrived: (to: string) => led.arrived(to),
    };
    const verdict = await platform.judge.judge({ updates, user, source, admission });
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

function onlyOneBranch(ref: string, other: string): string {
  const [one, another] = [ref, other].map((name) => name.replace('refs/heads/', ''));
  return `Replicas share only the branch ${one}; push ${another} to another repository`;
}

/** Command of the hook: the built file, or the source through tsx during development. */
function hookProgram(): string[] {
  const isSource = import.meta.url.endsWith('.ts');
  const script = new URL(`../../git/serve/hook-client.${isSource ? 'ts' : 'js'}`, import.meta.url);
  const loader = isSource
    ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href]
    : [];
  return [process.execPath, ...loader, fileURLToPath(script)];
}
