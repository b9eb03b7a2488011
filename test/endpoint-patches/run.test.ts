/** What patches do to an object, with expressions played by functions of the test. */
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/apimachinery/object.ts';
import type { Evaluation, Evaluator } from '../../src/endpoint-patches/evaluator.ts';
import { EvaluationError } from '../../src/endpoint-patches/evaluator.ts';
import { compilePatches } from '../../src/endpoint-patches/program.ts';
import type { Direction, PatchOutcome } from '../../src/endpoint-patches/report.ts';
import { type ApplyRequest, runPatches } from '../../src/endpoint-patches/run.ts';
import type { Patch } from '../../src/endpoint-patches/settings.ts';
import type { TenantCluster } from '../../src/endpoint-patches/tenant.ts';

const TENANT: TenantCluster = {
  name: 'my-vcluster',
  namespace: 'vc-ns',
  config: {},
  mode: 'single',
  referenceNames: 'concat',
};

type Play = (value: JsonValue, path: string) => JsonValue | undefined;

function evaluator(play: Play): Evaluator & { seen: Evaluation[] } {
  const seen: Evaluation[] = [];
  return {
    seen,
    fuel: 0,
    evaluate: (evaluation) => {
      seen.push(evaluation);
      return evaluation.values.map((value, i) => play(value, evaluation.paths[i] ?? ''));
    },
  };
}

interface Setup extends Partial<Omit<ApplyRequest, 'object' | 'direction'>> {
  readonly object: JsonObject;
  readonly patches: readonly Patch[];
  readonly tenant?: Partial<TenantCluster>;
  readonly direction?: Direction;
  readonly play?: Play;
}

function run({ patches, tenant, play, direction, ...request }: Setup): PatchOutcome {
  const program = compilePatches({ tenant: { ...TENANT, ...tenant }, patches });
  const full = { direction: direction ?? 'forward', ...request };
  return runPatches(program, full, evaluator(play ?? ((value) => value)));
}

function endpoints(): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'shop', labels: { app: 'web', release: 'r1' } },
    subsets: [
      { addresses: [{ ip: '10.0.0.1', hostname: 'a' }, { ip: '10.0.0.2' }], ports: [{ port: 80 }] },
    ],
  };
}

describe('expressions', () => {
  const hostnames = { path: 'subsets[*].addresses[*].hostname', expression: 'value' };

  // covers: patches.expression
  test('each match is evaluated with its path', () => {
    const { object, report } = run({
      object: endpoints(),
      patches: [hostnames],
      play: (value, path) => `${String(value)}@${path}`,
    });

    expect(object?.['subsets']).toMatchObject([
      { addresses: [{ hostname: 'a@subsets.0.addresses.0.hostname' }, {}] },
    ]);
    expect(report.patches).toMatchObject([
      {
        patch: 0,
        path: hostnames.path,
        mode: 'expression',
        status: 'applied',
        missed: 1,
        matches: [
          {
            path: 'subsets.0.addresses.0.hostname',
            change: 'changed',
            before: 'a',
            after: 'a@subsets.0.addresses.0.hostname',
          },
        ],
      },
    ]);
  });

  test('the given object is not changed', () => {
    const object = endpoints();

    run({ object, patches: [hostnames], play: () => 'other' });

    expect(object).toEqual(endpoints());
  });

  // covers: patches.path.absent
  test('a path that leads nowhere changes nothing and is counted', () => {
    const object = endpoints();
    const { object: result, report } = run({
      object,
      patches: [{ path: 'subsets[*].notReadyAddresses[*].ip', expression: 'value' }],
      play: () => 'never asked',
    });

    expect(result).toBe(object);
    expect(report.patches).toMatchObject([
      { status: 'skipped', skipped: 'no-match', missed: 1, matches: [] },
    ]);
  });

  test('null and undefined delete map keys and remove list elements', () => {
    const { object, report } = run({
      object: endpoints(),
      patches: [
        { path: 'metadata.labels.release', expression: 'null' },
        { path: 'subsets[*].addresses[0]', expression: 'undefined' },
      ],
      play: (value) => (value === 'r1' ? null : undefined),
    });

    expect(object).toMatchObject({ metadata: { labels: { app: 'web' } } });
    expect(object?.['subsets']).toEqual([
      { addresses: [{ ip: '10.0.0.2' }], ports: [{ port: 80 }] },
    ]);
    expect(report.patches.flatMap(({ matches }) => matches)).toMatchObject([
      { change: 'deleted', before: 'r1' },
      { change: 'deleted', before: { ip: '10.0.0.1' } },
    ]);
  });

  test('the empty path is the whole object, and its result replaces it', () => {
    const { object } = run({
      object: endpoints(),
      patches: [{ path: '', expression: 'value' }],
      play: (value) => {
        const { subsets: _subsets, ...rest } = value as JsonObject;
        return rest;
      },
    });

    expect(Object.keys(object ?? {})).toEqual(['apiVersion', 'kind', 'metadata']);
  });

  test.each<[string, string, Play]>([
    ['', 'metadata.name may not change', (value) => renamed(value, { name: 'other' })],
    ['', 'metadata.namespace may not change', (value) => renamed(value, { namespace: undefined })],
    ['', 'kind may not change', (value) => ({ ...(value as JsonObject), kind: 'Secret' })],
    ['metadata', 'metadata.name may not change', () => undefined],
    ['metadata.*', 'metadata.name may not change', () => 'x'],
    ['', 'the whole object can only become an object', () => null],
    ['', 'the whole object can only become an object', () => []],
  ])('an expression reads %j: %s', (path, message, play) => {
    const { object, report } = run({
      object: endpoints(),
      patches: [{ path, expression: 'value' }],
      play,
    });

    expect(object).toBeUndefined();
    expect(report.failure).toMatchObject({ reason: 'result', patch: 0, message });
  });

  function renamed(value: JsonValue, change: Record<string, unknown>): JsonValue {
    const { metadata, ...rest } = value as JsonObject;
    return JSON.parse(
      JSON.stringify({ ...rest, metadata: { ...(metadata as JsonObject), ...change } }),
    ) as JsonValue;
  }

  test('patches see the result of the former one', () => {
    const { object } = run({
      object: endpoints(),
      patches: [
        { path: 'metadata.labels', expression: 'value' },
        { path: 'metadata.labels.new', expression: 'value' },
      ],
      play: (value) =>
        typeof value === 'string' ? `${value}!` : { ...(value as JsonObject), new: 'x' },
    });

    expect(object).toMatchObject({ metadata: { labels: { app: 'web', new: 'x!' } } });
  });

  test('a failure is that of the object: nothing comes out, later patches do not run', () => {
    let asked = 0;
    const { object, report } = run({
      object: endpoints(),
      patches: [
        { path: 'metadata.labels.app', expression: 'value' },
        { path: 'kind', expression: 'value' },
      ],
      play: () => {
        asked++;
        throw new EvaluationError('no such thing', { reason: 'exception', line: 2, col: 5 });
      },
    });

    expect(asked).toBe(1);
    expect(object).toBeUndefined();
    expect(report.failure).toEqual({
      reason: 'exception',
      message: 'no such thing',
      patch: 0,
      line: 2,
      col: 5,
    });
    expect(report.patches).toMatchObject([
      { status: 'failed' },
      { status: 'skipped', skipped: 'earlier-patch-failed' },
    ]);
  });

  // covers: patches.reverseExpression
  test.each<[Direction, Patch, string]>([
    ['forward', { path: 'kind', reverseExpression: 'value' }, 'no-expression'],
    ['reverse', { path: 'kind', expression: 'value' }, 'no-reverse-expression'],
  ])('%s without an expression for it nothing happens', (direction, patch, reason) => {
    const { object, report } = run({ object: endpoints(), patches: [patch], direction });

    expect(object).toEqual(endpoints());
    expect(report.patches).toMatchObject([{ status: 'skipped', skipped: reason }]);
  });

  test('the same object gives the same bytes, for any order of its keys', () => {
    const patches = [{ path: 'metadata.labels', expression: 'value' }];
    const { metadata, ...rest } = endpoints();
    const turned = { metadata: metadata as JsonObject, ...rest };

    const results = [endpoints(), turned].map((object) =>
      JSON.stringify(run({ object, patches, play: (value) => value }).object),
    );

    expect(new Set(results).size).toBe(1);
  });

  test('a report without values has none', () => {
    const { report } = run({
      object: endpoints(),
      patches: [hostnames],
      values: false,
      play: () => 'secret',
    });

    expect(JSON.stringify(report)).not.toMatch(/"(before|after)"|secret/);
  });
});

const SHORT = /^v[a-z0-9]{13}$/;

describe('references', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret' };
  const full = { ...secret, namePath: 'name', namespacePath: 'namespace' };

  function rewritten(value: JsonValue, reference: Patch['reference'], more: Partial<Setup> = {}) {
    const metadata = { name: 'o', namespace: 'default' };
    const { object, report } = run({
      object: { apiVersion: 'v1', kind: 'X', metadata, ref: value },
      patches: [{ path: 'ref', ...(reference === undefined ? {} : { reference }) }],
      ...more,
    });
    expect(report.failure).toBeUndefined();
    return { value: object?.['ref'], note: report.patches[0]?.matches[0]?.note };
  }

  test.each<[string, JsonValue, Patch['reference'], JsonValue]>([
    ['a name', 'my-secret', secret, 'my-secret-x-default-x-my-vcluster'],
    // covers: patches.reference.namespacePath
    [
      'a name and a namespace',
      { name: 'creds', namespace: 'team-a', key: 'x' },
      full,
      { name: 'creds-x-team-a-x-my-vcluster', namespace: 'vc-ns', key: 'x' },
    ],
    // covers: patches.reference.namespacePath
    [
      'without a namespace it is that of the object, and none is added',
      { name: 'my-secret' },
      full,
      { name: 'my-secret-x-default-x-my-vcluster' },
    ],
    [
      'the kind may stand in the value',
      { name: 'x', kind: 'Widget', apiVersion: 'example.com/v1' },
      { ...secret, namePath: 'name', kindPath: 'kind', apiVersionPath: 'apiVersion' },
      { name: 'vdubiously', kind: 'Widget', apiVersion: 'example.com/v1' },
    ],
    // covers: patches.reference.namePath
    [
      'nested',
      { ref: { 'the.name': 'my-secret' } },
      { ...secret, namePath: 'ref["the.name"]' },
      { ref: { 'the.name': 'my-secret-x-default-x-my-vcluster' } },
    ],
  ])('%s', (_title, value, reference, expected) => {
    const { value: result } = rewritten(value, reference);

    const short = JSON.stringify(result).replace(/"v[a-z0-9]{13}"/, '"vdubiously"');
    expect(JSON.parse(short)).toEqual(expected);
  });

  // covers: patches.reference.single
  test('short names are for all kinds when the setting says so', () => {
    const tenant = { referenceNames: 'short' as const };

    expect(rewritten('my-secret', secret, { tenant }).value).toBe('v5ri45ovgqam9c');
  });

  const typed = { ...full, kindPath: 'kind', apiVersionPath: 'apiVersion' };

  test.each<[string, Patch['reference'], JsonValue, JsonValue]>([
    ['a Service', { apiVersion: 'v1', kind: 'Service' }, 'db', 'db-x-default-x-my-vcluster'],
    ['Endpoints', { apiVersion: 'v1', kind: 'Endpoints' }, 'db', 'db-x-default-x-my-vcluster'],
    // covers: patches.reference.apiVersion
    [
      'a Service of another group',
      { apiVersion: 'serving.example.com/v1', kind: 'Service' },
      'db',
      expect.stringMatching(SHORT),
    ],
    // covers: patches.reference.kindPath
    [
      'a Service by kindPath',
      typed,
      { name: 'db', kind: 'Service' },
      { name: 'db-x-default-x-my-vcluster', kind: 'Service' },
    ],
    // covers: patches.reference.kindPath
    [
      'another kind by kindPath, whatever the rule says',
      { ...typed, kind: 'Service' },
      { name: 'db', kind: 'Secret' },
      { name: expect.stringMatching(SHORT), kind: 'Secret' },
    ],
    // covers: patches.reference.apiVersionPath
    [
      'another group by apiVersionPath',
      { ...typed, kind: 'Service' },
      { name: 'db', apiVersion: 'x.y/v1' },
      { name: expect.stringMatching(SHORT), apiVersion: 'x.y/v1' },
    ],
  ])(
    'a reference to a synced object takes the name of that object: %s',
    (_title, reference, value, made) => {
      const tenant = { referenceNames: 'short' as const };

      expect(rewritten(value, reference, { tenant }).value).toEqual(made);
    },
  );

  test('objects without a namespace', () => {
    const reference = { apiVersion: 'v1', kind: 'PersistentVolume' };

    expect(rewritten('my-pv', reference).value).toBe('vcluster-my-pv-x-vc-ns-x-my-vcluster');
  });

  test.each<[string, Record<string, string>, boolean, string, string]>([
    // covers: patches.reference.multi
    ['no mappings', {}, false, 'my-secret', 'team-a'],
    ['an exact mapping', { 'team-a': 'host-a' }, true, 'my-secret', 'host-a'],
    ['a pattern', { 'team-*': 'host-*-x' }, true, 'my-secret', 'host-a-x'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as mappings are written
    ['the name of the tenant', { 'team-*': '${name}-*' }, true, 'my-secret', 'my-vcluster-a'],
    ['unmapped, mappings only', { b: 'c' }, true, 'my-secret', 'team-a'],
    ['unmapped', { b: 'c' }, false, 'my-secret-x-team-a-x-my-vcluster', 'vc-ns'],
  ])('multi-namespace mode, %s', (_title, namespaces, mappingsOnly, name, namespace) => {
    const value = { name: 'my-secret', namespace: 'team-a' };
    const tenant = { mode: 'multi' as const, namespaces, mappingsOnly };

    expect(rewritten(value, full, { tenant }).value).toEqual({ name, namespace });
  });

  test.each<[JsonValue, string]>([
    [{ namespace: 'x' }, 'there is nothing at namePath'],
    [{ name: '' }, 'there is no name'],
    [{ name: 7 }, 'there is no name'],
  ])('%j is left alone: %s', (value, note) => {
    expect(rewritten(value, full)).toEqual({ value, note });
  });

  test('the way back leads to objects that are known, and leaves others alone', () => {
    const known = [{ kind: 'Secret', name: 'creds', namespace: 'team-a' }];
    const back = (name: string) =>
      rewritten({ name, namespace: 'vc-ns' }, full, { direction: 'reverse', known });

    expect(back('creds-x-team-a-x-my-vcluster').value).toEqual({
      name: 'creds',
      namespace: 'team-a',
    });
    expect(back('other').value).toEqual({ name: 'other', namespace: 'vc-ns' });
    expect(back('other').note).toBe('no synced Secret is called "other"');
  });
});

describe('labels', () => {
  const release = 'gitplane.dev/label-my-vcluster-x-a4d451ec23';
  const marks = { 'gitplane.dev/managed-by': 'my-vcluster', 'gitplane.dev/namespace': 'shop' };
  const selector = {
    matchLabels: { release: 'r1', app: 'web' },
    matchExpressions: [{ key: 'release', operator: 'In', values: ['r1', 'r2'] }],
  };
  const hostSelector = {
    matchLabels: { [release]: 'r1', app: 'web' },
    matchExpressions: [{ key: release, operator: 'In', values: ['r1', 'r2'] }],
  };

  function translated(value: JsonValue, direction: Direction): JsonValue | undefined {
    const metadata = { name: 'o', namespace: 'shop' };
    const object = { apiVersion: 'v1', kind: 'X', metadata, labels: value };
    return run({ object, patches: [{ path: 'labels', labels: {} }], direction }).object?.['labels'];
  }

  // covers: patches.labels
  test.each<[string, JsonValue, JsonValue]>([
    [
      'few keys of a map change; marks are added',
      { app: 'web', release: 'r1' },
      { app: 'web', [release]: 'r1', ...marks },
    ],
    ['keys that are translated already are dropped', { [release]: 'forged' }, marks],
    ['selectors keep operators and values', selector, hostSelector],
    ['what is neither stays', 'app=web', 'app=web'],
    ['what is neither stays', { a: 1 }, { a: 1 }],
  ])('labels are translated to the control plane: %s', (_title, value, expected) => {
    expect(translated(value, 'forward')).toEqual(expected);
  });

  // covers: patches.labels
  test.each<[string, JsonValue]>([
    ['a map', { app: 'web', release: 'r1' }],
    ['a selector', selector],
  ])('%s comes back as it was', (_title, value) => {
    expect(translated(translated(value, 'forward') ?? null, 'reverse')).toEqual(value);
  });

  test('forged managed annotations of a tenant do not count', () => {
    const forged = { 'gitplane.dev/managed-by': 'somebody-else' };

    expect(translated(forged, 'forward')).toMatchObject(marks);
  });
});
