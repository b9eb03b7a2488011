/** Control files are found in paths of any length, in time in proportion to it. */
import { expect, test } from 'vitest';
import { isControlFile, pathFilter } from '../../src/manifests/path-filter.ts';

test.each<[string, boolean]>([
  ['.gitattributes::$DATA', true],
  ['.gitattributes. . :x', true],
  [' .gitattributes:x', false],
  ['teams/. .sops.yaml:x', false],
  ['teams:x/.sops.yaml :y', true],
])('a stream of a control file is one: %s', (path, expected) => {
  expect(isControlFile(path.startsWith('teams') ? 'teams' : '', path)).toBe(expected);
});

test('paths of blanks are judged as fast as others', () => {
  const folder = ' '.repeat(4_000);
  const began = performance.now();
  for (let i = 0; i < 500; i += 1) expect(isControlFile('', `${folder}/${i}`)).toBe(false);
  expect(performance.now() - began).toBeLessThan(5_000);
});

test.each([
  '.git\u00adattributes',
  '\u2060.sops.yaml',
  '.sops.ya\u{e0001}ml',
  '.git\ufe0fplaneignore',
])('a control file with a character that folders of ext4 leave out is one: %j', (path) =>
  expect(isControlFile('', path)).toBe(true),
);

test('a folder above that differs by case alone leads to the manifests on some clones', () => {
  const { manifestOnClones } = pathFilter('Platform', undefined);
  expect(manifestOnClones('platform/teams/x.yaml')).toBe('platform/teams/x.yaml');
  expect(manifestOnClones('Platform/teams/x.yaml')).toBeUndefined();
  expect(manifestOnClones('PLATFORM/Teams/X.YML')).toBe('platform/teams/x.yml');
  expect(manifestOnClones('elsewhere/x.YAML')).toBeUndefined();
  expect(manifestOnClones('Platform/teams/STOREF~1.YAM')).toBe('platform/teams/storef*.yaml');
  expect(manifestOnClones('Platform/teams/storef~1.yaml')).toBeUndefined();
  expect(manifestOnClones('Platform/teams/x.yam')).toBeUndefined();
});
