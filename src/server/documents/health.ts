/** `/healthz`, `/livez`, `/readyz` with the parameters that Kubernetes gives them. */

/** Returns a public description of the problem; undefined: healthy. */
export type HealthCheck = () => string | undefined;

export interface HealthChecks {
  readonly live: Readonly<Record<string, HealthCheck>>;
  readonly ready: Readonly<Record<string, HealthCheck>>;
  /** Listed by `readyz`; a problem does not make it fail. */
  readonly degraded?: Readonly<Record<string, HealthCheck>>;
}

export interface HealthAnswer {
  readonly code: 200 | 500;
  readonly text: string;
}

const ENDPOINT = /^\/(healthz|livez|readyz)(?:\/([\w-]+))?$/;

/** Undefined for other paths and for unknown checks. */
export function answerHealth(
  checks: HealthChecks,
  path: string,
  query: URLSearchParams,
): HealthAnswer | undefined {
  const match = ENDPOINT.exec(path);
  if (match === null) return undefined;
  const isLive = match[1] === 'livez';
  const all = isLive ? checks.live : { ...checks.live, ...checks.ready };
  const degraded = isLive ? {} : (checks.degraded ?? {});
  const single = match[2];
  if (single !== undefined) {
    const known = { ...degraded, ...all };
    const check = Object.hasOwn(known, single) ? known[single] : undefined;
    return check === undefined ? undefined : oneCheck(check());
  }
  return everyCheck(match[1] ?? '', { all, degraded }, query);
}

function oneCheck(problem: string | undefined): HealthAnswer {
  return problem === undefined ? { code: 200, text: 'ok' } : { code: 500, text: problem };
}

function everyCheck(
  endpoint: string,
  checks: {
    readonly all: Readonly<Record<string, HealthCheck>>;
    readonly degraded: Readonly<Record<string, HealthCheck>>;
  },
  query: URLSearchParams,
): HealthAnswer {
  const excluded = new Set(query.getAll('exclude'));
  const ask = (some: Readonly<Record<string, HealthCheck>>) =>
    Object.entries(some)
      .filter(([name]) => !excluded.has(name))
      .map(([name, check]) => ({ name, problem: check() }));
  const results = ask(checks.all);
  const failed = results.some(({ problem }) => problem !== undefined);
  if (!failed && !query.has('verbose')) return { code: 200, text: 'ok' };
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
  );
  for (const { name, problem } of ask(checks.degraded)) {
    lines.push(problem === undefined ? `[+]${name} ok` : `[!]${name} degraded: ${problem}`);
  }
  lines.push(`${endpoint} check ${failed ? 'failed' : 'passed'}`);
  return { code: failed ? 500 : 200, text: `${lines.join('\n')}\n` };
}
