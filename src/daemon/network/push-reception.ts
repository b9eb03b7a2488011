/**
 * Pushes over HTTP and by path. Both pass the hook pre-receive. That of a push by path asks the daemon over a
 * socket. The daemon starts git for a push over HTTP itself, and answers its hooks over a connection that
 * only this process has; by the hook proc-receive it moves the served branch itself.
 */
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { StatusError, type User } from '../../apimachinery/index.ts';
import type { RepositoryFollower } from '../../controllers/index.ts';
import {
  type GitContext,
  installHooks,
  listenForPushes,
  NewestTips,
  type OfferedTips,
  type PushRequest,
  type PushVerdict,
  pushSocketPath,
  type RefMove,
  type RefUpdate,
  refObjections,
  removeStaleLocks,
  type ServedHooks,
  withQuarantine,
} from '../../git/index.ts';
import {
  type ExaminedPush,
  type OpenPush,
  type PushAdmission,
  type PushedRange,
  type Verdict,
  WITHDRAWN,
} from '../../registry/index.ts';
import type { LedRepository } from '../../replication/index.ts';
import type { GitService, PushOutcome } from '../../server/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Platform } from '../platform.ts';

export interface PushReception {
  /** Installs the hook in a repository. */
  install(gitDir: string): Promise<void>;
  /** Begins to judge pushes; those that came before wait for it. */
  open(platform: Platform): Promise<void>;
  /** Refuses pushes until the reception is opened again. Resolves when those before are judged. */
  refuse(reason?: string): Promise<void>;
  service(follower: RepositoryFollower): GitService;
  close(): Promise<void>;
}

/** An HTTP push in progress. */
interface Push {
  readonly user: User;
  /** The same user later; undefined: the key, or the right to push, ended meanwhile. */
  userNow(): User | undefined;
  outcome: PushOutcome | undefined;
  /** Set between the two hooks: what the first one accepted for the served branch. */
  open: OpenPush | undefined;
}

type Decision = (platform: Platform) => Promise<PushVerdict>;

/** Folder of refs that stand for the branch of the same name, for clients that know it by its tip. */
const FOR = 'refs/for/';
/** Push option that asks to replace the history of the branch. */
const REWRITE_OPTION = 'rewrite';

const STOPPING = 'gitplane is stopping, and nothing was changed: push again when it runs';

const NO_ID = /^0+$/;

/** Only one process can own the socket, so this also keeps a second daemon off the data directory. */
export async function openPushReception(dataDir: string, logger: Logger): Promise<PushReception> {
  let platform: Platform | undefined;
  let refusal: string | undefined;
  let waiting: (() => void)[] = [];
  /** A client may be gone, and its push go on. */
  const deciding = new Set<Promise<PushVerdict>>();
  const release = (): void => {
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  const refuse = async (reason = STOPPING): Promise<void> => {
    platform = undefined;
    refusal = reason;
    release();
    await Promise.allSettled(deciding);
  };
  const decide = async (decision: Decision): Promise<PushVerdict> => {
    const isUndecided = platform === undefined && refusal === undefined;
    if (isUndecided) await new Promise<void>((resolve) => waiting.push(resolve));
    if (platform === undefined) return { ok: false, lines: [refusal ?? STOPPING] };
    return await decision(platform).catch((error: unknown) => {
      if (error instanceof StatusError) return { ok: false, lines: [error.message] };
      throw error;
    });
  };
  const withPlatform = (decision: Decision): Promise<PushVerdict> => {
    const decided = decide(decision).finally(() => deciding.delete(decided));
    deciding.add(decided);
    return decided;
  };
  const listener = await listenForPushes(
    pushSocketPath(dataDir),
    (request) => withPlatform((now) => judge(now, request, { known: undefined, logger })),
    logger,
  );
  const hooksOf = (known: Push): ServedHooks => ({
    preReceive: (request) => withPlatform((now) => judge(now, request, { known, logger })),
    procReceive: (updates) => withPlatform((now) => land(now, updates, { known, logger })),
    logger: logger.child({ user: known.user.name }),
  });
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
    refuse,
    service: (follower) => {
      if (platform === undefined) throw new Error('The platform is not open yet');
      const { repository, following } = platform;
      const readOnly = following?.pushRefusal;
      const tips = new NewestTips(repository.ancestry);
      const offered = async (): Promise<OfferedTips> => ({
        hidden: repository.ref,
        tips: await tips.at(await repository.head()),
      });
      // Otherwise the first push waits until the newest commits are read.
      if (readOnly === undefined) offered().catch(() => undefined);
      return {
        repository,
        readOnly,
        procReceive: [repository.ref, FOR.slice(0, -1)],
        offered,
        beginPush: (pusher) => {
          const push: Push = { ...pusher, outcome: undefined, open: undefined };
          return {
            hooks: hooksOf(push),
            end: async () => {
              await follower.catchUp();
              return push.outcome ?? unlanded(push);
            },
          };
        },
      };
    },
    close: async () => {
      await Promise.all([listener.close(), refuse()]);
    },
  };
}

async function judge(
  platform: Platform,
  push: PushRequest,
  { known, logger }: { known: Push | undefined; logger: Logger },
): Promise<PushVerdict> {
  const user = known?.user;
  if (known !== undefined && known.userNow() === undefined)
    return { ok: false, lines: [WITHDRAWN] };
  // Git runs the hook before it locks refs, so a lock that no process holds would block this push.
  await removeStaleLocks(platform.repository.gitDir, platform.repository.ref);
  if (platform.following !== undefined) {
    return { ok: false, lines: [platform.following.pushRefusal] };
  }
  const { refusal } = platform.branch;
  if (refusal !== undefined) return { ok: false, lines: [refusal] };
  const branchRef = platform.repository.ref;
  const updates = push.updates.map(({ ref, oldId, newId }) => ({
    // Only over HTTP does the daemon land the ref in the place of git.
    ref: known !== undefined && ref === standInFor(branchRef) ? branchRef : ref,
    oldId: NO_ID.test(oldId) ? undefined : oldId,
    newId: NO_ID.test(newId) ? undefined : newId,
  }));
  const elsewhere = updates.find(({ ref }) => ref !== branchRef);
  if (platform.led !== undefined && elsewhere !== undefined) {
    return { ok: false, lines: [onlyOneBranch(branchRef, elsewhere.ref)] };
  }
  const { led, repository } = platform;
  const refs = await refObjections(repository, updates);
  if (refs.length > 0) return { ok: false, lines: [...refs, 'nothing was changed'] };
  const { ancestry, maxPaths } = repository;
  await repository.coverCommits();
  const onJudged = (bytes: number): void => repository.commitsCame(bytes);
  const source = await withQuarantine(repository, push.env, { ancestry, maxPaths, onJudged });
  try {
    const { gitDir } = repository;
    const admission =
      led && admissionOf(led, known === undefined ? { gitDir, env: { ...push.env } } : { gitDir });
    const verdict =
      known === undefined
        ? await platform.judge.judge({ updates, user, source, admission })
        : await examine(platform, known, {
            updates,
            user: known.user,
            userNow: known.userNow,
            source,
            admission,
            rewrites: push.pushOptions.includes(REWRITE_OPTION),
          });
    // The second hook has the result for the branch.
    if (known?.open === undefined) record(platform, { known, logger }, verdict, updates);
    return verdict;
  } finally {
    await source.close();
  }
}

async function examine({ judge }: Platform, known: Push, push: ExaminedPush): Promise<Verdict> {
  const { verdict, open } = await judge.examine(push);
  known.open = open;
  return verdict;
}

/** Answers the hook that lands the served branch of an examined push. */
async function land(
  platform: Platform,
  updates: readonly RefUpdate[],
  { known, logger }: { known: Push; logger: Logger },
): Promise<PushVerdict> {
  const { open } = known;
  const [update, ...others] = updates;
  const { ref } = platform.repository;
  const isExamined =
    open !== undefined &&
    others.length === 0 &&
    update?.newId === open.to &&
    [ref, standInFor(ref)].includes(update.ref);
  if (!isExamined) {
    const lines = [`Only ${ref} is landed here, by a push over HTTP that was examined`];
    return { ok: false, lines, reason: 'not examined' };
  }
  known.open = undefined;
  const { refusal } = platform.branch;
  if (refusal !== undefined) return { ok: false, lines: [refusal], reason: 'refused' };
  const { verdict, revision, previous, reason } = await platform.judge.land(open);
  record(
    platform,
    { known, logger },
    verdict,
    [{ ref, oldId: previous, newId: open.to }],
    revision,
  );
  return { ok: verdict.ok, lines: verdict.lines, ...(reason === undefined ? {} : { reason }) };
}

/** Outcome of a push that git refused between the two hooks. */
function unlanded({ open }: Push): PushOutcome | undefined {
  return open && { result: 'refused', revision: open.to, previous: undefined };
}

function record(
  { repository, observation }: Platform,
  { known, logger }: { known: Push | undefined; logger: Logger },
  { ok }: Verdict,
  updates: readonly RefMove[],
  revision?: string,
): void {
  const result = ok ? 'accepted' : 'refused';
  const moved = updates.find(({ ref }) => ref === repository.ref);
  if (known !== undefined) {
    known.outcome = { result, revision: revision ?? moved?.newId, previous: moved?.oldId };
  }
  observation.metrics.pushes.inc({ result });
  logger.info({ user: known?.user.name ?? 'operator', result, updates, revision }, 'Push judged');
}

function admissionOf(led: LedRepository, context: GitContext): PushAdmission {
  return {
    admit: (range: PushedRange) => led.admit(context, range),
    arrived: (to: string) => led.arrived(to),
  };
}

/** `refs/for/main` for `refs/heads/main`. */
function standInFor(ref: string): string {
  return ref.replace(/^refs\/heads\//, FOR);
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
