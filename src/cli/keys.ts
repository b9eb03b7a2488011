/** `gitplane keys` and `gitplane kubeconfig`: access keys for people and pipelines. */
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { parse } from 'yaml';
import { type KubeObject, parseGoDuration, valueAt } from '../apimachinery/index.ts';
import { accessKeyPrefix, mintAccessKey } from '../kinds/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { formatKubeconfig } from '../tls/index.ts';
import { type Connection, itemsIn, objectIn, openConnection } from './connection.ts';
import { AnswerError } from './https-client.ts';
import { type Output, print } from './print.ts';

const COLLECTION = 'ownedaccesskeys';
const HELP = 'Write: gitplane keys create [NAME], list, rotate NAME or revoke NAME';

export async function keys(options: ParsedOptions, out: Output): Promise<number> {
  const [action = '', name = '', ...more] = options.operands;
  if (more.length > 0) throw new UsageError(HELP);
  const act = ACTIONS[action];
  if (act === undefined) throw new UsageError(HELP);
  if (name === '' && (action === 'rotate' || action === 'revoke')) throw new UsageError(HELP);
  print(options, out, await act(await openConnection(options), options, name));
  return 0;
}

/** A kubeconfig with a new key in it. */
export async function kubeconfig(options: ParsedOptions, out: Output): Promise<number> {
  const connection = await openConnection(options);
  const path = options.text('file');
  if (path === undefined) {
    const text = await newKubeconfig(connection, options);
    print(options, out, { text, json: parse(text) });
    return 0;
  }
  // Before the key is created: an existing file would leave a key that no client has.
  const file = await newFile(path);
  try {
    await file.writeFile(await newKubeconfig(connection, options));
  } catch (error) {
    await unlink(path);
    throw error;
  } finally {
    await file.close();
  }
  print(options, out, { text: '', json: { file: path } });
  return 0;
}

async function newFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`Cannot make ${path}: ${why}`, { cause: error });
  }
}

async function newKubeconfig(connection: Connection, options: ParsedOptions): Promise<string> {
  const created = await create(connection, options, '');
  return formatKubeconfig({
    server: connection.server,
    caPem: connection.caPem,
    token: textAt(created, ['spec', 'key']),
    name: options.text('user') ?? options.text('team') ?? 'gitplane',
  });
}

interface Result {
  readonly text: string;
  readonly json: unknown;
}

type Action = (connection: Connection, options: ParsedOptions, name: string) => Promise<Result>;

const ACTIONS: Readonly<Record<string, Action>> = {
  create: async (connection, options, name) => {
    const created = await create(connection, options, name);
    return keyResult(created.metadata.name, textAt(created, ['spec', 'key']));
  },
  list: async (connection) => {
    const list = await connection.call('GET', COLLECTION);
    return { text: table(list), json: itemsIn(list) };
  },
  rotate: async (connection, _options, name) => {
    const path = `${COLLECTION}/${encodeURIComponent(name)}`;
    const old = objectIn(await connection.call('GET', path));
    const key = mintAccessKey(accessKeyPrefix(textAt(old, ['spec', 'type'])));
    const patch = {
      metadata: { resourceVersion: old.metadata.resourceVersion },
      spec: { key },
    };
    await connection.call('PATCH', path, patch, 'application/merge-patch+json');
    return keyResult(name, key);
  },
  revoke: async (connection, _options, name) => {
    await connection.call('DELETE', `${COLLECTION}/${encodeURIComponent(name)}`);
    return { text: `access key "${name}" revoked\n`, json: { name, revoked: true } };
  },
};

function keyResult(name: string | undefined, key: string): Result {
  return { text: `${key}\n`, json: { name, key } };
}

async function create(
  connection: Connection,
  options: ParsedOptions,
  name: string,
): Promise<KubeObject> {
  const [user, team] = [options.text('user'), options.text('team')];
  if ((user === undefined) === (team === undefined)) {
    throw new UsageError('Name the owner of the key: either --user NAME or --team NAME');
  }
  await refuseUnlessThere(connection, user === undefined ? 'team' : 'user', user ?? team ?? '');
  const displayName = options.text('display-name');
  const ttl = seconds(options.text('ttl'));
  const body = {
    metadata: name === '' ? {} : { name },
    spec: {
      ...(displayName === undefined ? {} : { displayName }),
      ...(user === undefined ? { team } : { user }),
      ...(ttl === undefined ? {} : { ttl }),
      type: 'User',
    },
  };
  return objectIn(await connection.call('POST', COLLECTION, body));
}

/** The server takes keys ahead of their owner; at the command line a name is a slip. */
async function refuseUnlessThere(
  connection: Connection,
  noun: 'user' | 'team',
  name: string,
): Promise<void> {
  try {
    await connection.call('GET', `${noun}s/${encodeURIComponent(name)}`);
  } catch (error) {
    const code = error instanceof AnswerError ? error.code : undefined;
    // A caller without the right to read users may still make keys for them.
    if (code === 403) return;
    if (code !== 404) throw error;
    throw new UsageError(
      `There is no ${noun} ${JSON.stringify(name)}: make it first, or take one of kubectl get ${noun}s`,
      { cause: error },
    );
  }
}

function seconds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const days = /^(\d+)d$/.exec(text)?.[1];
  const milliseconds = days === undefined ? parseGoDuration(text) : Number(days) * 86_400_000;
  if (milliseconds !== undefined && milliseconds >= 1000) return Math.floor(milliseconds / 1000);
  throw new UsageError(`Cannot use --ttl "${text}": write a duration, as in 12h or 30d`);
}

function table(list: unknown): string {
  const rows = itemsIn(list).map((key) => [
    key.metadata.name ?? '',
    ownerOf(key),
    valueAt(key, ['spec', 'disabled']) === true ? 'yes' : 'no',
    ttlOf(key),
    textAt(key, ['status', 'lastActivity']) || 'never',
  ]);
  const all = [['NAME', 'FOR', 'DISABLED', 'TTL', 'LAST USE'], ...rows];
  const widths = all[0]?.map((_, column) =>
    Math.max(...all.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths?.[column] ?? 0))
      .join('   ')
      .trimEnd();
  return `${all.map(line).join('\n')}\n`;
}

function ownerOf(key: KubeObject): string {
  const fields = ['user', 'team', 'subject'];
  const field = fields.find((one) => textAt(key, ['spec', one]) !== '');
  return field === undefined ? '' : `${field} ${textAt(key, ['spec', field])}`;
}

function ttlOf(key: KubeObject): string {
  const ttl = valueAt(key, ['spec', 'ttl']);
  return typeof ttl === 'number' && ttl > 0 ? durationText(ttl) : 'none';
}

/** As `--ttl` takes it: `30d`, `12h`, `90s`. */
function durationText(seconds: number): string {
  if (seconds % 86_400 === 0) return `${seconds / 86_400}d`;
  if (seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}

function textAt(object: KubeObject, path: readonly string[]): string {
  const value = valueAt(object, path);
  return typeof value === 'string' ? value : '';
}
