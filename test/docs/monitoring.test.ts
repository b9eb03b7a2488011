/** Alerts and the dashboard name metrics that there are, with labels that these have. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { run, scratchDir } from '../support/daemon.ts';
import { ETCD_MISSING, startEtcd } from '../support/etcd.ts';
import { pageText, ROOT } from './markdown.ts';
import { selectorsOf } from './promql.ts';

const RULES = 'examples/monitoring/prometheus-rule.yaml';
const DASHBOARD = 'examples/monitoring/grafana-dashboard.json';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

interface Groups {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

const spec: Groups = parse(readFileSync(join(ROOT, RULES), 'utf8')).spec;
const rules = spec.groups.flatMap((group) => group.rules);

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const panels: Panel[] = JSON.parse(readFileSync(join(ROOT, DASHBOARD), 'utf8')).panels;

/** Labels by metric: the generated table, which the code is held to, and what Node tells of itself. */
const known = new Map<string, readonly string[]>([['up', []]]);
for (const line of pageText('docs/operations.md').split('\n')) {
  const row = /^\| `(gitplane_\w+)` \| (\w+) \| ([^|]*) \|/.exec(line);
  if (row === null) continue;
  const [, name = '', type, labels = ''] = row;
  const names = [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label);
  const suffixes = type === 'histogram' ? ['_bucket', '_count', '_sum'] : [''];
  for (const suffix of suffixes) {
    known.set(`${name}${suffix}`, suffix === '_bucket' ? [...names, 'le'] : names);
  }
}
const registry = new Registry();
collectDefaultMetrics({ register: registry });
for (const { name } of registry.getMetricsAsArray()) known.set(name, []);

/** Of etcd, which is asked for its own where it is there. */
const OF_ETCD = /^etcd_/;

/** Of the scrape, not of the daemon. */
const ADDED = ['job', 'instance'];

function unknownIn(expression: string): string[] {
  return selectorsOf(expression).flatMap(({ metric, labels }) => {
    if (OF_ETCD.test(metric)) return [];
    const has = known.get(metric);
    if (has === undefined) return [metric];
    return labels.filter((label) => ![...has, ...ADDED].includes(label));
  });
}

test('the table of metrics is read', () => {
  expect(known.size).toBeGreaterThan(40);
  expect(unknownIn('sum(rate(gitplane_nothing{a="b"}[5m]))')).toEqual(['gitplane_nothing']);
  expect(unknownIn('gitplane_held{tenant="b"} > 0')).toEqual(['tenant']);
  expect(() => selectorsOf('sum(rate(gitplane_held[5m])')).toThrow();
});

describe('alerts', () => {
  test.each(rules)('$alert names what there is', ({ expr, labels, annotations }) => {
    expect(unknownIn(expr)).toEqual([]);
    expect(['critical', 'warning']).toContain(labels.severity);
    const [page = ''] = annotations.runbook.split('#');
    expect(() => pageText(page)).not.toThrow();
  });

  test('each has a name of its own, and the page tells all of them', () => {
    const names = rules.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    const page = pageText('docs/operations.md');
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  const promtool = hasPromtool();
  test.skipIf(!promtool)(
    `promtool takes the rules${promtool ? '' : ' (SKIPPED: promtool is missing)'}`,
    async () => {
      const file = join(scratchDir(), 'rules.yaml');
      writeFileSync(file, stringify(spec));
      const { code, stdout, stderr } = await run('promtool', ['check', 'rules', file]);
      expect(code, stdout + stderr).toBe(0);
    },
  );
});

describe('the dashboard', () => {
  const expressions = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr })),
  );

  test.each(expressions)('$title: $expr', ({ expr }) => {
    expect(unknownIn(expr)).toEqual([]);
  });
});

describe.skipIf(ETCD_MISSING !== undefined)(`etcd (${ETCD_MISSING ?? 'there'})`, () => {
  test('has the metrics that alerts and panels name', async () => {
    const etcd = await startEtcd({ noFsync: true });
    try {
      const text = await (await fetch(`http://${etcd.endpoints[0]}/metrics`)).text();
      const expressions = [
        ...rules.map(({ expr }) => expr),
        ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ];
      const named = expressions
        .flatMap((expr) => selectorsOf(expr).map(({ metric }) => metric))
        .filter((metric) => OF_ETCD.test(metric));
      expect(named.length).toBeGreaterThan(3);
      expect(named.filter((metric) => !text.includes(`\n${metric}`))).toEqual([]);
    } finally {
      await etcd.stop();
    }
  });
});

function hasPromtool(): boolean {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
