/** Command lines that are wrong, help of every command, and the environment. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCommandLine, wantsJsonErrors } from '../../src/options/command-line.ts';
import type { CommandSpec } from '../../src/options/command-spec.ts';
import { COMMAND_TABLE } from '../../src/options/command-table.ts';
import { UsageError } from '../../src/options/parse-options.ts';
import { runs } from '../support/properties.ts';

type Parsed = ReturnType<typeof parseCommandLine>;

function parsed(args: readonly string[], environment: Record<string, string> = {}): Parsed {
  return parseCommandLine(COMMAND_TABLE, args, { version: '1.2.3', environment });
}

function textOf(...args: string[]): string {
  const invocation = parsed(args);
  return 'text' in invocation ? invocation.text : '';
}

/** Commands and their actions, as words. */
const PLACES = Object.entries(COMMAND_TABLE).flatMap(
  ([name, { actions }]: [string, CommandSpec]) => [
    [name],
    ...Object.keys(actions ?? {}).map((action) => [name, action]),
  ],
);

/** Words of an example between pipes and redirections that begin with `gitplane`. */
function wordsOf(example: string): string[] {
  const [, command = ''] = /gitplane ([^|<>)&]*)/.exec(example) ?? [];
  return [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? '',
  );
}

describe('wrong command lines end with one sentence', () => {
  test.each<[string[], RegExp]>([
    [['serv'], /^Unknown command "serv": did you mean serve\?$/],
    [['xyzzy'], /^Unknown command "xyzzy": use serve, .* or version$/],
    [['help', 'serv'], /^Unknown command "serv": did you mean serve\?$/],
    [['toString'], /^Unknown command "toString"/],
    [['keys'], /^Name an action of gitplane keys: use create, list, rotate or revoke$/],
    [['keys', 'crate'], /^Unknown action "crate": did you mean create\?$/],
    [['keys', 'frobnicate'], /^Unknown action "frobnicate": use create, list, rotate or revoke$/],
    [['keys', 'rotate'], /^Missing required argument "NAME"; usage: gitplane keys rotate NAME/],
    [['plan'], /^Missing required argument "REV"; usage: gitplane plan REV/],
    [['serve', 'foo'], /^Too many operands; usage: gitplane serve \[OPTIONS\]$/],
    [['plan', 'a', 'b'], /^Too many operands; usage: gitplane plan REV/],
    [['serve', '--dta-dir', 'x'], /^Unknown option "--dta-dir": did you mean --data-dir\?/],
    [['serve', '-x'], /^Unknown option "-x"; usage: gitplane serve/],
    [['serve', '--seed'], /--seed <DIR>" argument missing/],
    [['serve', '--seed', '--listen', 'x'], /^--seed needs a value, and --listen follows it$/],
    [
      ['validate', '-o', 'xml'],
      /^Cannot use --output "xml": use text, json, sarif, github or gitlab$/,
    ],
    [['seal', '--check=maybe'], /^Unknown option "--check=maybe"/],
    [['secrets', 'get', '--now'], /^Unknown option "--now"/],
    [['completion'], /^Missing required argument "SHELL"/],
  ])('%j', (args, message) => {
    expect(() => parsed(args)).toThrow(UsageError);
    expect(() => parsed(args)).toThrow(message);
  });

  test('a secret on the command line is not repeated', () => {
    const args = ['secrets', 'set', 'default/db', 'password', 'hunter2'];

    expect(() => parsed(args)).toThrow(/^A value is not for the command line/);
    expect(() => parsed(args)).not.toThrow(/hunter2/);
  });

  const flags = Object.values(COMMAND_TABLE).flatMap(({ options }) =>
    options.map(({ name }) => `--${name}`),
  );
  const word = fc.oneof(
    fc.constantFrom(...Object.keys(COMMAND_TABLE), ...PLACES.flat(), ...flags),
    fc.constantFrom('-', '--', '-o', 'json', '-o=', '--=', '', '__proto__', 'constructor', '-h-'),
    fc.string({ maxLength: 12, unit: 'grapheme' }),
  );

  test('any words lead to help, a command, or a UsageError of one line', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 6 }), async (args) => {
        try {
          const invocation = parsed(args);
          if ('text' in invocation) expect(invocation.text).not.toBe('');
          else expect(Object.keys(COMMAND_TABLE)).toContain(invocation.name);
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
          const { message } = error as UsageError;
          expect(message).not.toMatch(/^error|\n\s+at |undefined|\[object/);
          expect(message.length).toBeGreaterThan(10);
        }
      }),
      { numRuns: runs(300) },
    );
  });
});

describe('help', () => {
  test.each(PLACES)('%s %s: usage, options and examples, by each way to ask', (...words) => {
    const place = words.filter((word) => word !== undefined);
    const help = textOf(...place, '--help');

    expect(help).toMatch(new RegExp(`^Usage: gitplane ${place.join(' ')}\\b`));
    expect(help).toContain('\nExamples:\n  # ');
    expect(textOf(...place, '-h')).toBe(help);
    expect(textOf('help', ...place)).toBe(help);
    expect(textOf(...place, '-v')).toBe('gitplane 1.2.3\n');
    expect(textOf(...place, '--version')).toBe('gitplane 1.2.3\n');
  });

  test('nothing, help and --help list every command', () => {
    const help = textOf();

    for (const name of Object.keys(COMMAND_TABLE)) expect(help).toContain(`\n  ${name} `);
    expect(textOf('help')).toBe(help);
    expect(textOf('--help')).toBe(help);
  });

  test('options of a command stand below their headings', () => {
    const help = textOf('serve', '--help');

    expect(help.indexOf('--repo-token')).toBeGreaterThan(help.indexOf('Following a remote:'));
    expect(textOf('plan', '--help')).not.toContain('--listen');
  });

  test.each(Object.entries(COMMAND_TABLE))('%s has examples that parse', (name, spec) => {
    expect(spec.examples.length).toBeGreaterThanOrEqual(2);
    for (const { command } of spec.examples) {
      expect({ command, parsed: parsed(wordsOf(command)) }).toMatchObject({ parsed: { name } });
    }
  });
});

describe('the environment', () => {
  test.each<[string, string]>([
    ['GITPLANE_LISTN', 'GITPLANE_LISTEN'],
    ['GITPLANE_DATA_DRI', 'GITPLANE_DATA_DIR'],
    ['GITPLANE_PRUNE_BUDGET_OBJECT', 'GITPLANE_PRUNE_BUDGET_OBJECTS'],
  ])('%s is refused, with the right name', (name, meant) => {
    expect(() => parsed(['serve'], { [name]: 'x' })).toThrow(
      `Unknown environment variable ${name}: did you mean ${meant}?`,
    );
  });

  test.each([
    'GITPLANE_SERVICE_HOST',
    'GITPLANE_SERVICE_PORT_HTTPS',
    'GITPLANE_PORT',
    'GITPLANE_PORT_8443_TCP_ADDR',
    'GITPLANE_TEST_SEED',
    'HOME',
  ])('%s of another program is accepted', (name) => {
    expect(parsed(['serve'], { [name]: 'x' })).toMatchObject({ name: 'serve' });
  });

  test('a variable of another command is accepted, and one of this command counts', () => {
    const invocation = parsed(['validate'], { GITPLANE_LISTEN: ':1', GITPLANE_OUTPUT: 'json' });

    expect('options' in invocation && invocation.options.text('output')).toBe('json');
  });

  test('a variable of a flag without a value is true or false', () => {
    expect(() => parsed(['seal'], { GITPLANE_CHECK: 'yes' })).toThrow(
      'Cannot use GITPLANE_CHECK=yes: write true or false',
    );
  });
});

test('an option has a further name, which its variable has too', () => {
  const formatOf = (args: string[], environment = {}): string | undefined => {
    const invocation = parsed(args, environment);
    return 'options' in invocation ? invocation.options.text('output') : undefined;
  };

  expect(formatOf(['validate', '--format', 'sarif'])).toBe('sarif');
  expect(formatOf(['validate'], { GITPLANE_FORMAT: 'github' })).toBe('github');
  expect(formatOf(['validate', '-o', 'json', '--format', 'sarif'])).toBe('sarif');
  expect(() => formatOf(['validate', '--format', 'xml'])).toThrow(/use text, json/);
});

test('every command that prints a result takes -o json', () => {
  const without = Object.entries(COMMAND_TABLE)
    .filter(
      ([, { options }]) => !options.some(({ name, short }) => name === 'output' && short === 'o'),
    )
    .map(([name]) => name);

  expect(without).toEqual(['serve', 'completion']);
});

test.each<[string[], Record<string, string>, boolean]>([
  [['plan', '-o', 'json'], {}, true],
  [['plan', '-ojson', '--x'], {}, true],
  [['plan', '--output=json'], {}, true],
  [['plan', '--format', 'json'], {}, true],
  [['plan', '-o', 'json', '-o', 'text'], {}, false],
  [['plan', '--', '-o', 'json'], {}, false],
  [['plan'], { GITPLANE_OUTPUT: 'json' }, true],
  [['plan'], {}, false],
])('%j with %j asks for errors as JSON: %s', (args, environment, expected) => {
  expect(wantsJsonErrors(args, environment)).toBe(expected);
});
