/** How options are read, and what is said of values that cannot be used. */
import { describe, expect, test } from 'vitest';
import { COMMAND_TABLE } from '../../src/options/command-table.ts';
import type { OptionSpec } from '../../src/options/option-spec.ts';
import { type ParsedOptions, parseOptions, UsageError } from '../../src/options/parse-options.ts';
import { parseAddress, readChoice, readNumber, readPath } from '../../src/options/values.ts';

const SPECS: readonly OptionSpec[] = [
  { name: 'format', short: 'f', value: 'FORMAT', default: 'text', help: '' },
  { name: 'rows', value: 'N', default: '3', help: '' },
  { name: 'editor', value: 'COMMAND', variable: 'EDITOR', help: '' },
  { name: 'key-file', value: 'FILE', multiple: true, help: '' },
  { name: 'dry-run', help: '' },
];

function given(args: readonly string[], environment: Record<string, string> = {}): ParsedOptions {
  return parseOptions(SPECS, args, environment);
}

describe('source of a value', () => {
  test.each<[string, string[], Record<string, string>, string]>([
    ['a default', [], {}, 'text'],
    ['a variable over a default', [], { GITPLANE_FORMAT: 'json' }, 'json'],
    ['a flag over a variable', ['--format', 'yaml'], { GITPLANE_FORMAT: 'json' }, 'yaml'],
    ['the short flag', ['-f', 'yaml'], {}, 'yaml'],
    ['the last of several flags', ['-f', 'yaml', '-f', 'xml'], {}, 'xml'],
  ])('%s', (_name, args, environment, expected) => {
    expect(given(args, environment).required('format')).toBe(expected);
  });

  test("our own variable wins over that of others, which counts where ours isn't set", () => {
    expect(given([], { EDITOR: 'ed' }).text('editor')).toBe('ed');
    expect(given([], { EDITOR: 'ed', GITPLANE_EDITOR: 'vi' }).text('editor')).toBe('vi');
  });

  test('a variable holds several values between commas', () => {
    expect(given([], { GITPLANE_KEY_FILE: 'a,b' }).all('key-file')).toEqual(['a', 'b']);
    expect(given(['--key-file', 'c'], { GITPLANE_KEY_FILE: 'a,b' }).all('key-file')).toEqual(['c']);
  });

  test('an option without a value is on by its flag or by the word true', () => {
    expect(given([]).isOn('dry-run')).toBe(false);
    expect(given(['--dry-run']).isOn('dry-run')).toBe(true);
    expect(given([], { GITPLANE_DRY_RUN: 'true' }).isOn('dry-run')).toBe(true);
    expect(given([], { GITPLANE_DRY_RUN: 'false' }).isOn('dry-run')).toBe(false);
  });
});

describe('values that cannot be used', () => {
  test.each<[string, () => unknown, RegExp]>([
    ['an unknown flag', () => given(['--colour']), /--colour/],
    ['no value', () => given(['--format=']).required('format'), /--format needs a value/],
    [
      'a word that is not a choice',
      () => readChoice(given(['-f', 'xml']), 'format', ['text', 'json', 'yaml']),
      /^Cannot use --format "xml": use text, json or yaml$/,
    ],
    ['a fraction', () => readNumber(given(['--rows=1.5']), 'rows'), /--rows "1.5": write a number/],
    ['too many', () => readNumber(given(['--rows=9']), 'rows', { most: 8 }), /from 0 to 8$/],
    ['too few', () => readNumber(given(['--rows=1']), 'rows', { least: 2 }), /from 2 to /],
    ['no port', () => parseAddress('listen', 'localhost'), /--listen "localhost": write HOST:PORT/],
    ['a port too high', () => parseAddress('listen', ':65536'), /write HOST:PORT/],
  ])('%s is a sentence for the user', (_name, read, message) => {
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });
});

test('paths are absolute, and absent ones stay absent', () => {
  expect(readPath(given(['--editor', 'x/y']), 'editor')).toBe(`${process.cwd()}/x/y`);
  expect(readPath(given([]), 'editor')).toBeUndefined();
});

test('an address without a host is every address', () => {
  expect(parseAddress('listen', ':80')).toEqual({ host: '0.0.0.0', port: 80 });
  expect(parseAddress('listen', '[::1]:80')).toEqual({ host: '::1', port: 80 });
});

test.each(Object.entries(COMMAND_TABLE))('%s names no option twice', (_name, { options }) => {
  const names = options.flatMap(({ name, short }) => [
    name,
    ...(short === undefined ? [] : [short]),
  ]);

  expect(names).toEqual([...new Set(names)]);
});
