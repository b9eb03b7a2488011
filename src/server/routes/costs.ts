/**
 * GET `/costs`: costs of tenants, where `costControl` is enabled. The answer has the tenants that the
 * caller may list or get.
 */
import { noSuchRoute, rfc3339, StatusError, type User } from '../../apimachinery/index.ts';
import { costsOf, type TenantCost } from '../../costs/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { Answer } from '../output/answer.ts';
import { documentAnswer } from '../overview/document-answer.ts';
import { UserSlots } from '../overview/user-slots.ts';
import { Visibility } from '../overview/visibility.ts';
import { COSTS_PATH } from '../paths.ts';
import type { ApiRequest } from '../request.ts';

/** Schemas of the document name this number. */
const MOST_TENANTS = 200;
const MOST_RUNNING = 8;
const MOST_RUNNING_OF_ONE = 2;

/** Undefined for other paths. */
export function costsRoute(
  deps: ServerDependencies,
): (request: ApiRequest) => Promise<Answer> | undefined {
  const running = new UserSlots(MOST_RUNNING, MOST_RUNNING_OF_ONE);
  return (request) => {
    const { user, info } = request;
    if (info.path !== COSTS_PATH) return undefined;
    if ((info.verb !== 'get' && info.verb !== 'head') || user === undefined) throw noSuchRoute();
    if (deps.config.current.costControl?.enabled !== true) {
      const message =
        'Costs are not computed: costControl.enabled of the configuration is not true';
      throw new StatusError(404, 'NotFound', message);
    }
    return running.run(user.name, 'sums of costs are computed', () => answer(deps, request, user));
  };
}

async function answer(deps: ServerDependencies, request: ApiRequest, user: User): Promise<Answer> {
  const kind = deps.kinds.kinds.find(({ storedIn }) => storedIn === 'file');
  if (kind === undefined) throw noSuchRoute();
  const seen = new Visibility(deps, user);
  const names = deps.costs.names().filter((name) => seen.maySee(kind, { namespace: '', name }));
  const usages = await deps.costs.usage(names.slice(0, MOST_TENANTS));
  // As configured after the wait.
  const { settings } = deps.config.current.costControl ?? {};
  const items = costsOf(settings, usages);
  const currency = settings?.priceCurrency;
  return documentAnswer(request, {
    kind: 'TenantCosts',
    apiVersion: `${deps.kinds.groups[0]}/v1`,
    ...(currency === undefined ? {} : { currency }),
    items: items.map(({ observedAt, ...item }) => ({
      ...item,
      ...(observedAt === undefined ? {} : { observedAt: rfc3339(observedAt) }),
    })),
    count: names.length,
    total: totalOf(items),
  });
}

function totalOf(items: readonly TenantCost[]): object {
  const known = items.flatMap(({ total }) => (total === undefined ? [] : [total]));
  return {
    perHour: known.reduce((sum, { perHour }) => sum + perHour, 0),
    perMonth: known.reduce((sum, { perMonth }) => sum + perMonth, 0),
    tenants: known.length,
  };
}
