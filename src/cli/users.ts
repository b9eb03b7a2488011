/**
 * `gitplane users passwd NAME`: gives a user a password. It is hashed here: the platform and git get
 * what it is checked against, and never the password.
 */
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { hashPassword } from '../auth/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { openConnection } from './connection.ts';
import { print } from './print.ts';
import type { ValueInput } from './secret-values.ts';

const HELP =
  'Write: gitplane users passwd NAME with the password on standard input or --from-file FILE, or --none to take it away';

/** In place of a hash: the user has no password. */
const NONE = '!';

export async function users(options: ParsedOptions, input: ValueInput): Promise<number> {
  const [action, name, ...more] = options.operands;
  if (action !== 'passwd' || name === undefined || more.length > 0) throw new UsageError(HELP);
  const connection = await openConnection(options);
  const passwordHash = await newHash(options, input);
  const path = `users/${encodeURIComponent(name)}`;
  const patch = { spec: { passwordHash } };
  await connection.call('PATCH', path, patch, 'application/merge-patch+json');
  const what = passwordHash === NONE ? 'has no password any more' : 'has a new password';
  print(options, input.out, {
    text: `user ${name} ${what}; sessions that began before have ended\n`,
    json: { user: name, hasPassword: passwordHash !== NONE },
  });
  return 0;
}

async function newHash(options: ParsedOptions, input: ValueInput): Promise<string> {
  const file = options.text('from-file');
  if (options.isOn('none')) {
    if (file !== undefined) throw new UsageError(HELP);
    return NONE;
  }
  const password = file === undefined ? await asked(input) : await readFile(file, 'utf8');
  try {
    // Editors and `echo` end a line.
    return await hashPassword(password.replace(/\r?\n$/, ''));
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** From a terminal it is not shown. */
async function asked({ stdin }: ValueInput): Promise<string> {
  if (!('isTTY' in stdin) || stdin.isTTY !== true) return await text(stdin);
  process.stderr.write('New password: ');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: silent, terminal: true });
  try {
    return await lines.question('');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
