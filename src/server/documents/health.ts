/** `/healthz`, `/livez`, `/readyz` with the parameters that Kubernetes gives them. */

/** Undefined: fine; otherwise what is wrong, in words that may be public. */
export type HealthCheck = () => string | undefined;

export interface HealthChecks {
  readonly live: Readonly<Record<string, HealthCheck>>;
  readonly ready: Readonly<Record<string, HealthCheck>>;
}

export interface HealthAnswer {
  readonly code: 200 | 500;
  readonly text: string;
}

const ENDPOINT = /^\/(healthz|livez|readyz)(?:\/([\w-]+))?$/;

/** Undefined when the path is none of the three, or names a check that does not exist. */
export function answerHealth(
  checks: HealthChecks,
  path: string,
  query: URLSearchParams,
): HealthAnswer | undefined {
  const match = ENDPOINT.exec(path);
  if (match === null) return undefined;
  const all = match[1] === 'livez' ? checks.live : { ...checks.live, ...checks.ready };
  const single = match[2];
  if (single !== undefined) {
    const check = Object.hasOwn(all, single) ? all[single] : undefined;
    return check === undefined ? undefined : oneCheck(check());
  }
  return everyCheck(match[1] ?? '', all, query);
}

function oneCheck(problem: string | undefined): HealthAnswer {
  return problem === undefined ? { code: 200, text: 'ok' } : { code: 500, text: problem };
}

function everyCheck(
  endpoint: string,
  checks: Readonly<Record<string, HealthCheck>>,
  query: URLSearchParams,
): HealthAnswer {
  const excluded = new Set(query.getAll('exclude'));
  const results = Object.entries(checks)
    .filter(([name]) => !excluded.has(name))
    .map(([name, check]) => ({ name, problem: check() }));
  const failed = results.some(({ problem }) => problem !== undefined);
  if (!failed && !query.has('verbose')) return { code: 200, text: 'ok' };
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
  );
  lines.push(`${endpoint} check ${failed ? 'failed' : 'passed'}`);
  return { code: failed ? 500 : 200, text: `${lines.join('\n')}\n` };
}
