import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { patches } from '../../src/cli/patches.ts';
import { PatchEngine } from '../../src/endpoint-patches/engine.ts';
import { PATCHES_OPTIONS } from '../../src/options/manifest-options.ts';
import { parseOptions, UsageError } from '../../src/options/parse-options.ts';

const folder = mkdtempSync(join(tmpdir(), 'gitplane-patches-'));

const engine = new PatchEngine({ threads: 1 });

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await engine.close();
});

let files = 0;

function file(content: unknown, name = `${++files}.yaml`): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : stringify(content));
  return path;
}

function config(...list: unknown[]): unknown {
  return { sync: { toHost: { endpoints: { patches: list } } } };
}

async function run(
  args: readonly string[],
  input = '',
): Promise<{ status: number; output: string }> {
  let output = '';
  const write = (text: string): void => {
    output += text;
  };
  const options = parseOptions(PATCHES_OPTIONS, ['test', ...args], {});
  const status = await patches(options, { out: { write }, stdin: Readable.from([input]), engine });
  return { status, output };
}

const ENDPOINTS = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
  subsets: [{ addresses: [{ ip: '10.0.0.1', hostname: 'a' }, { ip: '10.0.0.2' }] }],
};
const HOSTNAME = {
  path: 'subsets[*].addresses[*].hostname',
  expression: 'value + "-" + context.vcluster.name',
};

test.each([
  [[], { name: expect.stringMatching(/^web-x-shop-x-/), namespace: 'vcluster-blue' }],
  [['--patches-only'], { name: 'web', namespace: 'shop' }],
  [['--reverse'], { name: 'web', namespace: 'shop' }],
])('objects are translated before the patches: %j', async (more, metadata) => {
  const setting = file(config(HOSTNAME), 'tenants/blue/vcluster.yaml');

  const { output } = await run(['-f', setting, '-i', file(ENDPOINTS), '-o', 'json', ...more]);

  expect(JSON.parse(output).object.metadata).toMatchObject(metadata);
});

test('each step is explained, and the difference shown', async () => {
  const list = [HOSTNAME, { path: 'spec.none', expression: 'value' }];
  const setting = file(config(...list), 'tenants/blue/vcluster.yaml');

  const { status, output } = await run(['-f', setting, '-i', file(ENDPOINTS)]);

  expect(status).toBe(0);
  expect(output).toBe(`Endpoints shop/web, to the control plane
  patches[0] "subsets[*].addresses[*].hostname" (expression): applied, 1 match, 1 without the field
    subsets.0.addresses.0.hostname: "a" → "a-blue"
  patches[1] "spec.none" (expression): skipped, the path leads nowhere in this object

   namespace: vcluster-blue
 subsets:
   - addresses:
-      - hostname: a
+      - hostname: a-blue
         ip: 10.0.0.1
       - ip: 10.0.0.2
`);
});

test('a failing expression is found: exit 1, its place, and nothing that would be written', async () => {
  const list = [
    HOSTNAME,
    { path: 'metadata.labels.app', expression: '\n  value.x.y' },
    { path: 'kind', expression: 'value' },
  ];
  const { status, output } = await run(['-f', file(config(...list)), '-i', file(ENDPOINTS)]);

  expect(status).toBe(1);
  expect(output).toContain(
    "failed: patches[1], line 2, column 10 of the expression: TypeError: cannot read property 'y' of undefined (at metadata.labels.app)",
  );
  expect(output).toContain('not run, an earlier patch failed');
  expect(output).toContain('nothing would be written');
});

test('a pair that does not come back is warned of', async () => {
  const pair = {
    path: 'metadata.labels.app',
    expression: '"my-prefix-" + value',
    reverseExpression: 'value.slice("my-prefix".length)',
  };

  const { status, output } = await run(['-f', file(config(pair)), '-i', file(ENDPOINTS)]);

  expect(status).toBe(0);
  expect(output).toContain(
    'warning: patches[0] does not come back: metadata.labels.app: "web" → "my-prefix-web" → "-web"',
  );
  const good = { ...pair, reverseExpression: 'value.slice("my-prefix-".length)' };
  const second = await run(['-f', file(config(good)), '-i', file(ENDPOINTS)]);
  expect(second.output).not.toContain('warning');
});

test('the way back runs the reverse expressions', async () => {
  const pair = { path: 'metadata.labels.app', reverseExpression: 'value.replace(/-red$/, "")' };
  const there = structuredClone(ENDPOINTS);
  Object.assign(there.metadata, { labels: { app: 'a-red' } });
  const args = ['-f', file(config(pair)), '-i', file(there), '--reverse', '--tenant', 'red'];

  const { output } = await run(args);

  expect(output).toContain('Endpoints shop/web, back to the tenant');
  expect(output).toContain('"a-red" → "a"');
});

test('a reverse expression of what never flows back is refused in its place', async () => {
  const dead = { ...HOSTNAME, reverseExpression: 'value' };
  const { status, output } = await run(['-f', file(config(dead)), '-i', file(ENDPOINTS)]);

  expect(status).toBe(1);
  expect(output).toMatch(
    /:\d+:\d+: sync\.toHost\.endpoints\.patches\[0\]\.reverseExpression: Forbidden: "subsets.*" never flows back/,
  );
});

test('a Service is translated and patched as one', async () => {
  const patches = [
    { path: 'spec.ports[*].name', expression: 'value + "-" + context.vcluster.name' },
  ];
  const service = {
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'db', namespace: 'shop' } },
    spec: { clusterIP: '10.96.0.7', ports: [{ name: 'sql', port: 5432, nodePort: 30_000 }] },
  };
  const setting = file(JSON.stringify({ sync: { toHost: { services: { patches } } } }));
  const args = ['-f', setting, '-i', file(service), '--tenant', 'blue', '-o', 'json'];
  const { object } = JSON.parse((await run(args)).output);

  expect(object.metadata).toMatchObject({ name: 'db-x-shop-x-blue' });
  expect(object.spec).toEqual({
    ...{ type: 'ClusterIP', sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' },
    ports: [{ name: 'sql-blue', port: 5432, protocol: 'TCP', targetPort: 5432 }],
  });
});

test('prints JSON: the object and its report, one per input', async () => {
  const setting = file(config(HOSTNAME));
  const args = ['-f', setting, '--tenant', 'blue', '-o', 'json'];

  const one = await run([...args, '-i', '-'], JSON.stringify(ENDPOINTS));
  const list = { apiVersion: 'v1', kind: 'List', items: [ENDPOINTS, ENDPOINTS] };
  const many = await run([...args, '-i', file(list), '-i', file(ENDPOINTS)]);

  expect(JSON.parse(one.output)).toMatchObject({
    object: { subsets: [{ addresses: [{ hostname: 'a-blue' }, {}] }] },
    report: { direction: 'forward', patches: [{ status: 'applied', missed: 1 }] },
  });
  expect(JSON.parse(many.output)).toHaveLength(3);
});

test('references are named by mode and form', async () => {
  const reference = { apiVersion: 'v1', kind: 'Secret' };
  const setting = file(config({ path: 'metadata.labels.app', reference }));
  const common = ['-f', setting, '-i', file(ENDPOINTS), '--tenant', 'blue'];
  const app = async (...more: string[]): Promise<unknown> => {
    const { output } = await run([...common, ...more, '-o', 'json']);
    return JSON.parse(output).object.metadata.labels.app;
  };

  expect(await app()).toMatch(/^v[a-z0-9]{13}$/);
  expect(await app('--reference-names', 'concat')).toBe('web-x-shop-x-blue');
  expect(await app('--mode', 'multi')).toBe('web');
});

describe('a mistake in the file is reported with its place', () => {
  const yaml = `sync:
  toHost:
    endpoints:
      patches:
        - path: a[[0]]
          expression: value
        - path: b
          expression: |

            (v) => {
              let y = ;
            }
        - path: c
          expression: "value +"
        - path: d
          expression: value )
        - path: e
          expresion: value
`;

  test.each([
    ['5:19', 'unexpected bracket in bracket'],
    ['11:23', "Unexpected token ';'"],
    ['14:31', 'unexpected end of the expression'],
    ['16:29', "Unexpected token ')'"],
    ['18:11', 'did you mean "expression"?'],
    ['17:11', 'need to use one of: expression, labels or reference'],
  ])('a mistake is reported at %s: %s', async (place, words) => {
    const path = file(yaml);

    const { status, output } = await run(['-f', path, '-i', file(ENDPOINTS)]);

    expect(status).toBe(1);
    const line = output.split('\n').find((text) => text.startsWith(`${path}:${place}: `));
    expect(line).toContain(words);
  });
});

test.each([
  [['-f', 'nowhere.yaml', '-i', '-'], 'Cannot read nowhere.yaml'],
  [['-i', '-', '--mode', 'x'], 'Cannot use --mode "x": use single or multi'],
  [['-o', 'xml'], 'Cannot use --output "xml"'],
  [[], 'Say which objects to try'],
])('%j: %s', async (args, words) => {
  const given = args.includes('-f') ? args : ['-f', file(config()), ...args];

  await expect(run(given, JSON.stringify(ENDPOINTS))).rejects.toThrow(words);
  await expect(run(given, JSON.stringify(ENDPOINTS))).rejects.toBeInstanceOf(UsageError);
});
