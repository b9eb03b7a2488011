/**
 * `gitplane secrets get` and `set`: the values of secrets, one key at a time. A value is printed only
 * where its key is named, and is never taken from the command line, where others could read it.
 */
import { readFile } from 'node:fs/promises';
import { buffer as readAll } from 'node:stream/consumers';
import { isRecord, type KubeObject, valueAt } from '../apimachinery/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { confirmed } from './confirm.ts';
import { itemsIn, objectIn, openConnection } from './connection.ts';
import { AnswerError } from './https-client.ts';
import { print, wantsJson } from './print.ts';

const HELP =
  'Write: gitplane secrets get [[NAMESPACE/]NAME [KEY]], or set [NAMESPACE/]NAME KEY with the value on standard input or --from-file FILE';
const MERGE_PATCH = 'application/merge-patch+json';

export interface ValueInput {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Bytes too: values are any. */
  readonly out: { write(chunk: string | Uint8Array): unknown };
}

export async function getSecret(options: ParsedOptions, { out }: ValueInput): Promise<number> {
  const [, target, key, more] = options.operands;
  if (more !== undefined) throw new UsageError(HELP);
  const connection = await openConnection(options);
  if (target === undefined) {
    listSecrets(await connection.call('GET', collectionOf(options)), options, out);
    return 0;
  }
  const { path, shown } = placeOf(options, target);
  const secret = objectIn(await connection.call('GET', path));
  const data = dataOf(secret);
  if (key === undefined) {
    const names = Object.keys(data).sort();
    const rows = names.map((name) => [name, sizeOf(data[name] ?? '')]);
    const json = {
      name: shown,
      keys: names.map((name) => ({ key: name, bytes: bytesOf(data[name]) })),
    };
    print(options, out, { text: table([['KEY', 'BYTES'], ...rows]), json });
    return 0;
  }
  const value = Object.hasOwn(data, key) ? data[key] : undefined;
  if (value === undefined) throw new UsageError(`${shown} has no key ${JSON.stringify(key)}`);
  if (value === MASK) throw new UsageError(`${shown} may not be read with this access key`);
  if (wantsJson(options))
    print(options, out, { text: '', json: { name: shown, key, base64: value } });
  else out.write(Buffer.from(value, 'base64'));
  return 0;
}

/** Answer of the platform to a user without the right to see a value. */
const MASK = '***';

export async function setSecret(
  options: ParsedOptions,
  { stdin, out }: ValueInput,
): Promise<number> {
  const [, target, key, ...more] = options.operands;
  if (target === undefined || key === undefined) throw new UsageError(HELP);
  // The unknown word is not repeated: it may be a secret.
  if (more.length > 0 || key.includes('=')) {
    throw new UsageError(
      'A value is not for the command line, where others can see it: pipe it in, or name a file with --from-file',
    );
  }
  const value = await valueFor(options, stdin);
  if (value.length === 0) await confirmEmpty(options, stdin, key);
  const { path, shown, name, collection } = placeOf(options, target);
  const connection = await openConnection(options);
  const spec = { data: { [key]: value.toString('base64') } };
  const patch = (): Promise<unknown> => connection.call('PATCH', path, { spec }, MERGE_PATCH);
  try {
    await patch();
  } catch (error) {
    if (!isAnswer(error, 404)) throw error;
    await connection.call('POST', collection, { metadata: { name }, spec }).catch((failure) => {
      // Another client created it first.
      if (isAnswer(failure, 409)) return patch();
      throw failure;
    });
  }
  const text = `${shown}: ${key} is set (${value.length} bytes)\n`;
  print(options, out, { text, json: { name: shown, key, bytes: value.length } });
  return 0;
}

/** The bytes of a file as they are; of standard input without the newline that `echo` ends with. */
async function valueFor(options: ParsedOptions, stdin: ValueInput['stdin']): Promise<Buffer> {
  const file = options.text('from-file');
  if (file !== undefined) {
    return await readFile(file).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new UsageError(`Cannot read ${file}: ${why}`, { cause: error });
    });
  }
  if (stdin.isTTY === true) {
    throw new UsageError('Pipe the value in, or name a file with --from-file: a terminal shows it');
  }
  const given = await readAll(stdin);
  return given.at(-1) === 0x0a ? given.subarray(0, -1) : given;
}

/** An empty value is mostly a failed command before the pipe, or an empty variable. */
async function confirmEmpty(
  options: ParsedOptions,
  stdin: ValueInput['stdin'],
  key: string,
): Promise<void> {
  if (options.isOn('allow-empty')) return;
  if (stdin.isTTY === true && (await confirmed(stdin, `Set ${key} to an empty value?`))) return;
  throw new UsageError(
    `The value for ${key} is empty, and nothing was set: check the command before the pipe, or give --allow-empty`,
  );
}

interface SecretPlace {
  readonly collection: string;
  readonly path: string;
  readonly name: string;
  /** For people. */
  readonly shown: string;
}

function placeOf(options: ParsedOptions, target: string): SecretPlace {
  const [first = '', second, more] = target.split('/');
  const namespace = second === undefined ? options.required('namespace') : first;
  const name = second ?? first;
  if (name === '' || namespace === '' || more !== undefined) throw new UsageError(HELP);
  const collection = `namespaces/${encodeURIComponent(namespace)}/${pluralOf(options)}`;
  const path = `${collection}/${encodeURIComponent(name)}`;
  return { collection, path, name, shown: `${namespace}/${name}` };
}

function collectionOf(options: ParsedOptions): string {
  return options.isOn('all-namespaces')
    ? pluralOf(options)
    : `namespaces/${encodeURIComponent(options.required('namespace'))}/${pluralOf(options)}`;
}

function pluralOf(options: ParsedOptions): string {
  return options.isOn('project') ? 'projectsecrets' : 'sharedsecrets';
}

function listSecrets(list: unknown, options: ParsedOptions, out: ValueInput['out']): void {
  const secrets = itemsIn(list).map((secret) => {
    const { namespace = '', name = '' } = secret.metadata;
    return { name: `${namespace}/${name}`, keys: Object.keys(dataOf(secret)).sort() };
  });
  const rows = secrets.map(({ name, keys }) => [name, keys.join(', ')]);
  print(options, out, { text: table([['NAME', 'KEYS'], ...rows]), json: secrets });
}

function dataOf(secret: KubeObject): Record<string, string> {
  const data = valueAt(secret, ['spec', 'data']);
  return isRecord(data)
    ? Object.fromEntries(Object.entries(data).map(([key, value]) => [key, String(value)]))
    : {};
}

function sizeOf(value: string): string {
  return String(bytesOf(value) ?? '?');
}

/** Undefined: the caller may not read it. */
function bytesOf(value: string | undefined = ''): number | undefined {
  return value === MASK ? undefined : Buffer.byteLength(value, 'base64');
}

function isAnswer(error: unknown, code: number): boolean {
  return error instanceof AnswerError && error.code === code;
}

function table(rows: readonly (readonly string[])[]): string {
  const width = Math.max(...rows.map(([first = '']) => first.length));
  return rows.map(([first = '', second = '']) => `${first.padEnd(width)}   ${second}\n`).join('');
}
