/** Pushes that the daemon judges, and the end of their reception. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { unavailable } from '../../../src/apimachinery/status-error.ts';
import type { RepositoryFollower } from '../../../src/controllers/repository.ts';
import {
  openPushReception,
  type PushReception,
} from '../../../src/daemon/network/push-reception.ts';
import type { Platform } from '../../../src/daemon/platform.ts';
import type { PushRequest } from '../../../src/git/serve/hook-protocol.ts';
import type { GitService } from '../../../src/server/dependencies.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { commitOf, publish, temporaryFolder } from '../../support/git.ts';
import { ann, openTestPlatform, type TestPlatform, team } from '../../support/platform.ts';

interface Opened {
  readonly platform: TestPlatform;
  readonly reception: PushReception;
  /** Begins to serve pushes over HTTP. */
  serve(): GitService;
}

async function openReception(): Promise<Opened> {
  const platform = await openTestPlatform();
  await platform.commit({ 'teams/a.yaml': team('a') });
  const metrics = createMetrics({
    objects: () => [],
    lastCommitAge: () => undefined,
    waitingWrites: () => 0,
    hold: () => undefined,
    withoutProcess: true,
  });
  const reception = await openPushReception(temporaryFolder(), createLogger('silent'));
  onTestFinished(() => reception.close());
  // All that the reception uses.
  await reception.open({ ...platform, observation: { metrics } } as unknown as Platform);
  const follower = { catchUp: () => platform.branch.sync() } as RepositoryFollower;
  return { platform, reception, serve: () => reception.service(follower) };
}

/** A push of a commit that the repository has, to the branch. */
async function pushOf({ repository }: TestPlatform, newId: string): Promise<PushRequest> {
  const oldId = (await repository.head()) ?? '';
  return { env: {}, pushOptions: [], updates: [{ oldId, newId, ref: repository.ref }] };
}

const WAYS: readonly (readonly [string, (reception: PushReception) => Promise<void>])[] = [
  ['is closed', (reception) => reception.close()],
  ['refuses pushes', (reception) => reception.refuse()],
];

test.each(WAYS)(
  'a reception that %s waits for judgements, whatever became of their clients',
  async (_way, end) => {
    const { platform, reception, serve } = await openReception();
    const { hooks } = serve().beginPush({ user: ann, userNow: () => ann });
    const order: string[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const holding = platform.branch.runExclusive(() => held);
    // The judgement reads this commit of another process first, and waits for the branch.
    const [moved = ''] = await publish(
      platform.repository,
      commitOf({ 'teams/b.yaml': team('b') }),
    );
    const judged = hooks.preReceive(await pushOf(platform, moved)).then(() => order.push('judged'));
    const ended = end(reception).then(() => order.push('ended'));
    release();
    await Promise.all([holding, judged, ended]);
    expect(order).toEqual(['judged', 'ended']);
  },
);

test.each(WAYS)('a reception that %s judges no later push, and says why', async (_way, end) => {
  const { platform, reception, serve } = await openReception();
  const { hooks } = serve().beginPush({ user: ann, userNow: () => ann });
  const head = (await platform.repository.head()) ?? '';
  const push = await pushOf(platform, head);
  await end(reception);
  const lines = ['gitplane is stopping, and nothing was changed: push again when it runs'];
  const judged = vi.spyOn(platform.judge, 'examine');
  expect(await hooks.preReceive(push)).toEqual({ ok: false, lines });
  expect(await hooks.procReceive(push.updates)).toEqual({ ok: false, lines });
  expect(judged).not.toHaveBeenCalled();
});

test('a push that cannot be judged now is refused with the reason', async () => {
  const { platform, reception, serve } = await openReception();
  const reason = 'The branch keeps moving; please try again';
  const examine = (): Promise<never> => Promise.reject(unavailable(reason));
  await reception.open({ ...platform, judge: { examine } } as unknown as Platform);
  const { hooks } = serve().beginPush({ user: ann, userNow: () => ann });
  const push = await pushOf(platform, (await platform.repository.head()) ?? '');

  expect(await hooks.preReceive(push)).toEqual({ ok: false, lines: [reason] });
});

test('the newest commits are read when the service begins, before the first push', async () => {
  const { platform, serve } = await openReception();
  const read = vi.spyOn(platform.repository.ancestry, 'line');
  serve();
  const head = await platform.repository.head();
  await vi.waitFor(() => expect(read).toHaveBeenCalledWith(head, undefined));
});
