import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { formatPath } from '../../src/apimachinery/field-error.ts';
import { readEndpointsSetting, readServicesSetting } from '../../src/endpoint-patches/settings.ts';
import { checkEndpointsSetting } from '../../src/endpoint-patches/validate.ts';

function problems(patches: unknown): { path: string; message: string; at?: unknown }[] {
  const config = { sync: { toHost: { endpoints: { patches } } } };
  return checkEndpointsSetting(config).map(({ path, message, at }) => ({
    path: formatPath(path),
    message,
    ...(at === undefined ? {} : { at }),
  }));
}

const AT = 'sync.toHost.endpoints.patches[0]';

test.each([
  [{}],
  [null],
  [{ sync: null }],
  [{ sync: { toHost: { pods: { patches: 'not ours to judge' } } } }],
  [{ sync: { toHost: { endpoints: { enabled: false } } } }],
  [{ sync: { toHost: { endpoints: { enabled: null, patches: null } } } }],
])('nothing is wrong with %j', (config) => {
  expect(checkEndpointsSetting(config)).toEqual([]);
});

test.each([
  { path: 'subsets[*].addresses[*].hostname', expression: 'value' },
  { path: '', expression: '(v => v)(value)' },
  { path: 'a', reverseExpression: 'value' },
  { path: 'a', expression: 'value', reverseExpression: 'value' },
  { path: 'a', expression: 'value', reference: null },
  { path: 'a', labels: {} },
  { path: 'a', reference: { apiVersion: 'v1', kind: 'Secret' } },
  {
    path: 'a',
    reference: {
      apiVersion: 'v1',
      apiVersionPath: 'apiVersion',
      kind: 'Secret',
      kindPath: 'kind',
      namePath: 'name',
      namespacePath: 'namespace',
    },
  },
  { path: 'metadata.annotations.name', expression: 'value' },
])('%j is a patch', (patch) => {
  expect(problems([patch])).toEqual([]);
});

describe('the known messages', () => {
  const expression = 'value';
  const labels = {};
  const reference = { apiVersion: 'v1', kind: 'Secret' };

  test.each([
    { expression, labels },
    { expression, reference },
    { reverseExpression: 'value', reference },
    { labels, reference },
    { expression, labels, reference },
  ])('%j is one mode too many', (modes) => {
    expect(problems([{ path: 'a', ...modes }])).toEqual([
      { path: AT, message: `${AT} can only use one of: expression, labels or reference` },
    ]);
  });

  test('a patch without a mode', () => {
    expect(problems([{ path: 'a' }])).toEqual([
      { path: AT, message: `${AT} need to use one of: expression, labels or reference` },
    ]);
  });

  test.each([
    ['a[*].b', 'a[*].b'],
    ['a[0]', 'a.0'],
    ['a["x.y"]', "a['x.y']"],
  ])('%s and %s are the same path', (first, second) => {
    const patches = [
      { path: first, labels },
      { path: 'other', labels },
      { path: second, labels },
    ];

    expect(problems(patches)).toEqual([
      {
        path: 'sync.toHost.endpoints.patches[2].path',
        message: `${AT} and sync.toHost.endpoints.patches[2] have the same path ${JSON.stringify(second)}`,
      },
    ]);
  });
});

describe('paths', () => {
  test.each(['metadata.name', 'metadata.namespace', 'metadata["name"]', ' metadata..name'])(
    '%s is refused',
    (path) => {
      expect(problems([{ path, expression: 'value' }])).toEqual([
        { path: `${AT}.path`, message: expect.stringMatching(/^Forbidden: metadata\.name/) },
      ]);
    },
  );

  test('a path that cannot be read is refused where it goes wrong', () => {
    expect(problems([{ path: 'spec.a[[0]]', expression: 'value' }])).toEqual([
      {
        path: `${AT}.path`,
        message: expect.stringContaining('unexpected bracket in bracket in spec.a[[0]] at 7'),
        at: { line: 1, col: 8 },
      },
    ]);
  });

  test('relative paths lead to one field', () => {
    const reference = { apiVersion: 'v1', kind: 'Secret', namePath: 'a[*]', namespacePath: '' };

    expect(problems([{ path: 'a', reference }]).map(({ path }) => path)).toEqual([
      `${AT}.reference.namePath`,
      `${AT}.reference.namespacePath`,
    ]);
  });
});

describe('expressions', () => {
  test.each<[string, { line: number; col: number }]>([
    ['value +', { line: 1, col: 8 }],
    ['value.map(x => {\n  let y = ;\n})', { line: 2, col: 11 }],
    ['/(/.test(value)', { line: 1, col: 1 }],
    ['let x = 1', { line: 1, col: 5 }],
    ['return value', { line: 1, col: 1 }],
    ['a) + (b', { line: 1, col: 2 }],
    ['value)(', { line: 1, col: 6 }],
    ['value )', { line: 1, col: 7 }],
    ['f(value', { line: 1, col: 3 }],
    ['', { line: 1, col: 1 }],
    [';', { line: 1, col: 1 }],
    ['// nothing', { line: 1, col: 11 }],
    ['"größe" ! value', { line: 1, col: 9 }],
    ['...value', { line: 1, col: 1 }],
    ['await value', { line: 1, col: 7 }],
  ])('%j is refused at %j', (expression, at) => {
    const [problem, ...others] = problems([{ path: 'a', expression }]);

    expect(others).toEqual([]);
    expect(problem).toMatchObject({ path: `${AT}.expression`, at });
    expect(problem?.message).toContain(`line ${at.line}, column ${at.col} of the expression`);
  });

  test.each([
    'value?.a?.[0] ?? "none"',
    '({ ...value, b: 1 })',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression
    'value.startsWith("prod-") ? value : `prod-${value}`',
    '(value => { value.metadata ??= {}; return value; })(value)\n',
    'value.replace(/^tenant-/, "");',
    'value // as it is',
    '\'"constant"\'',
    'a, b',
    '(function () { return arguments })()',
  ])('%j is an expression', (expression) => {
    expect(problems([{ path: 'a', expression }])).toEqual([]);
  });

  test('judging does not run', () => {
    const expression = '(() => { globalThis.ran = true })() ';

    expect(problems([{ path: 'a', expression }])).toEqual([]);
    expect(globalThis).not.toHaveProperty('ran');
  });

  test('a program is no expression', () => {
    expect(problems([{ path: 'a', expression: `"${'x'.repeat(40_000)}"` }])).toEqual([
      {
        path: `${AT}.expression`,
        message: expect.stringContaining('longer than 32768'),
        at: { line: 1, col: 1 },
      },
    ]);
  });
});

describe('fields', () => {
  // covers: patches.path patches.reference.apiVersion patches.reference.kind
  test.each([
    [[{ path: 'a', expresion: 'value' }], `${AT}.expresion`, 'did you mean "expression"?'],
    [[{ path: 'a', labels: { app: 'x' } }], `${AT}.labels.app`, 'unknown field'],
    [[{ expression: 'value' }], `${AT}.path`, 'Required value'],
    [[{ path: 7, expression: 'value' }], `${AT}.path`, 'must be a string'],
    [[{ path: 'a', expression: true }], `${AT}.expression`, 'must be a string'],
    [['a'], AT, 'must be a map'],
    ['a', 'sync.toHost.endpoints.patches', 'must be a list'],
    [[{ path: 'a', reference: { kind: 'Secret' } }], `${AT}.reference.apiVersion`, 'Required'],
    [[{ path: 'a', reference: { apiVersion: 'v1' } }], `${AT}.reference.kind`, 'Required'],
    [
      [{ path: 'a', reference: { apiVersion: 'v1', kind: 'Secret', kindPath: 'kind' } }],
      `${AT}.reference.namePath`,
      'Required value: kindPath is set',
    ],
    [new Array(257).fill({}), 'sync.toHost.endpoints.patches', 'at most 256'],
  ])('%j: %s %s', (patches, path, words) => {
    expect(problems(patches)).toContainEqual({ path, message: expect.stringContaining(words) });
  });

  test('enabled is a boolean', () => {
    const config = { sync: { toHost: { endpoints: { enabled: 'yes', patch: [] } } } };

    expect(checkEndpointsSetting(config).map(({ path }) => formatPath(path))).toEqual([
      'sync.toHost.endpoints.enabled',
      'sync.toHost.endpoints.patch',
    ]);
  });
});

describe('Services', () => {
  const at = (endpoints: object | null, services: object): string[] =>
    checkEndpointsSetting({ sync: { toHost: { endpoints, services } } }).map(
      ({ path, message }) => `${formatPath(path)}: ${message}`,
    );

  test.each([
    [null, { enabled: true }],
    [{ enabled: true }, { enabled: true }],
    [{ enabled: false }, { enabled: false }],
    [{ enabled: false }, {}],
    [{}, { patches: [{ path: 'spec.type', expression: '"ClusterIP"' }] }],
  ])('nothing is wrong with %j and %j', (endpoints, services) => {
    expect(at(endpoints, services)).toEqual([]);
  });

  // covers: sync.toHost.services.needEndpoints
  test('cannot be synced without Endpoints', () => {
    expect(at({ enabled: false }, { enabled: true })).toEqual([
      'sync.toHost.services.enabled: Forbidden: Services are synced beside Endpoints: enable sync.toHost.endpoints, too',
    ]);
  });

  test('have the rules of Endpoints for their patches', () => {
    expect(
      at({}, { patch: [], patches: [{ path: 'metadata.name', expression: 'value' }] }),
    ).toEqual([
      expect.stringMatching(/^sync\.toHost\.services\.patch: .*did you mean "patches"/),
      expect.stringMatching(/^sync\.toHost\.services\.patches\[0\]\.path: Forbidden: /),
    ]);
  });

  // covers: sync.toHost.services.enabled
  test.each([
    [{}, true],
    [{ sync: { toHost: { endpoints: { enabled: false } } } }, false],
    [{ sync: { toHost: { services: { enabled: false } } } }, false],
  ])('Services of %j are synced: %s', (config, enabled) => {
    expect(readServicesSetting(config).enabled).toBe(enabled);
  });
});

// covers: sync.toHost.endpoints.enabled limits.endpointSync
test('a setting is read with its defaults', () => {
  expect(readEndpointsSetting({})).toEqual({ enabled: true, patches: [] });
  expect(readEndpointsSetting(null)).toEqual({ enabled: true, patches: [] });
  const config = parse(
    'sync: {toHost: {endpoints: {enabled: false, patches: [{path: a, expression: "value", labels: null}]}}}',
  );
  expect(readEndpointsSetting(config)).toEqual({
    enabled: false,
    patches: [{ path: 'a', expression: 'value' }],
  });
});
