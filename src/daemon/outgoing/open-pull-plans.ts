/** Opens the plans of pull requests of a followed repository. */
import type { Forge } from '../../forges/index.ts';
import { Remote } from '../../git/index.ts';
import type { Platform } from '../platform.ts';
import type { PlatformContext } from '../platform-context.ts';
import type { ForgeOptions } from '../repository/forge-options.ts';
import { planPull } from './pull-planner.ts';
import { PullPlans, type PullPlansParts } from './pull-plans.ts';

export interface PulledPlatform extends Pick<PlatformContext, 'options' | 'clock' | 'logger'> {
  readonly forge: ForgeOptions;
  readonly platform: Pick<Platform, 'repository' | 'branch' | 'judge' | 'kinds' | 'suspensions'>;
}

interface PullPlansContext extends Pick<PullPlansParts, 'outbox' | 'store' | 'place'> {
  readonly forge: Forge;
}

/** Undefined: no plans are wanted. */
export function openPullPlans(
  { options, forge: of, clock, logger, platform }: PulledPlatform,
  given: PullPlansContext,
): Pick<PullPlans, 'start' | 'trigger' | 'planOf' | 'close'> | undefined {
  const { repository, judge, kinds, suspensions } = platform;
  const { remote: source, publicUrl } = options;
  if (of.plans === 'off' || source === undefined) return undefined;
  const { address, access } = source;
  const { gitDir, ref } = repository;
  // It fetches commits alone, and moves no ref.
  const remote = new Remote({ address, access, gitDir, ref, trackingRef: ref });
  const plans = new PullPlans({
    ...given,
    clock,
    context: of.context,
    branch: of.target.branch,
    includesForks: of.plans === 'forks',
    plan: (pull, base) => planPull({ remote, repository, judge, kinds }, pull, base),
    base: () => baseOf(platform),
    isSuspended: () => suspensions.find('remote') !== undefined,
    url: (number) => publicUrl && `${publicUrl}/console/plan?of=refs%2Fpull%2F${number}%2Fhead`,
    onError: (err) => logger.warn({ err }, 'Pull requests cannot be planned'),
  });
  const forget = suspensions.subscribe(({ suspension: { part }, is }) => {
    if (part === 'remote' && is !== 'suspended') plans.trigger();
  });
  return {
    start: () => plans.start(),
    trigger: () => plans.trigger(),
    planOf: (number) => plans.planOf(number),
    close: async () => {
      forget();
      remote.close();
      await plans.close();
    },
  };
}

/** Undefined while readers see another commit, unless it is held and follows from theirs. */
async function baseOf({
  repository,
  branch,
}: PulledPlatform['platform']): Promise<string | undefined> {
  const head = await repository.head();
  const { shown } = branch.state;
  if (head === undefined || shown === undefined || head === shown) return head;
  const follows = branch.hold !== undefined && (await repository.isAncestor(shown, head));
  return follows ? head : undefined;
}
