/** Changes of one value in a text of YAML keep comments and the style of other lines. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type Path, withValue } from '../../src/console/app/edit/splice.ts';

const TEXT = `# The team of the shop
kind: Team
metadata: {name: shop, labels: {tier: "gold"}}
spec:
  displayName: 'Shop' # shown
  # Members
  users:
  - ada # the first
  - ben
  access:
    - name: members
      verbs: [get, list]   # read
    - name: owners
      verbs: [ '*' ]
`;

describe('one value', () => {
  test.each<[string, Path, unknown, string, string]>([
    [
      'a scalar in its quotes',
      ['spec', 'displayName'],
      'Store',
      "'Shop' # shown",
      "'Store' # shown",
    ],
    ['a value in a flow map', ['metadata', 'labels', 'tier'], 'iron', '"gold"', '"iron"'],
    ['an item of a list', ['spec', 'users', 0], 'eve', '- ada # the', '- eve # the'],
    ['a new item', ['spec', 'users', 2], 'eve', '  - ben\n', '  - ben\n  - eve\n'],
    ['a removed item', ['spec', 'users', 0], undefined, '  - ada # the first\n', ''],
    [
      'a new item of a flow list',
      ['spec', 'access', 0, 'verbs', 2],
      'watch',
      'list]',
      'list, watch]',
    ],
    [
      'a removed item of a flow list',
      ['spec', 'access', 0, 'verbs', 0],
      undefined,
      '[get, list]',
      '[list]',
    ],
    ['a removed last item', ['spec', 'access', 0, 'verbs', 1], undefined, '[get, list]', '[get]'],
    [
      'a new field',
      ['spec', 'description'],
      'Sells',
      "    - name: owners\n      verbs: [ '*' ]\n",
      "    - name: owners\n      verbs: [ '*' ]\n  description: Sells\n",
    ],
    [
      'a new nested field',
      ['spec', 'owner', 'team'],
      'ops',
      "      verbs: [ '*' ]\n",
      "      verbs: [ '*' ]\n  owner:\n    team: ops\n",
    ],
    ['a new label in a flow map', ['metadata', 'labels', 'a'], 'b', '"gold"}', '"gold", a: b}'],
    ['a removed field', ['spec', 'displayName'], undefined, "  displayName: 'Shop' # shown\n", ''],
    [
      'a removed last label, with its map',
      ['metadata', 'labels', 'tier'],
      undefined,
      ', labels: {tier: "gold"}',
      '',
    ],
    [
      'a whole list',
      ['spec', 'users'],
      ['x'],
      '  users:\n  - ada # the first\n  - ben\n',
      '  users:\n    - x\n',
    ],
  ])('%s', (_title, path, value, before, after) => {
    expect(TEXT).toContain(before);
    expect(withValue(TEXT, path, value)).toBe(TEXT.replace(before, () => after));
  });

  test('a text that does not parse stays', () => {
    expect(withValue('a: [', ['a'], 1)).toBe('a: [');
  });

  const leaf = fc.oneof(fc.string(), fc.boolean(), fc.integer());
  const name = fc.stringMatching(/^[a-z]{1,4}$/);
  const tree = fc.object({ key: name, values: [leaf], maxDepth: 3, maxKeys: 4 });

  test('any value at any place means what was set', () => {
    fc.assert(
      fc.property(tree, name, name, leaf, fc.boolean(), (object, a, b, value, flow) => {
        const text = stringify({ spec: object }, flow ? { collectionStyle: 'flow' } : {});
        const spec = (parse(text) as { spec: Record<string, unknown> }).spec;
        const isMap = (one: unknown): one is Record<string, unknown> =>
          typeof one === 'object' && one !== null && !Array.isArray(one);
        const inner = spec[a];
        if (Object.hasOwn(spec, a) && !isMap(inner)) return;
        const wanted = { spec: { ...spec, [a]: { ...(isMap(inner) ? inner : {}), [b]: value } } };
        expect(parse(withValue(text, ['spec', a, b], value))).toEqual(wanted);
      }),
    );
  });
});
