/** Events in SQLite and in PostgreSQL, through the thread that writes them. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { DataStore } from '../../src/audit/store/data-store.ts';

type Module = typeof import('../../src/audit/store/data-store.ts');
/** As it was built: a thread that has to read TypeScript first takes a second to start. */
const built = join(import.meta.dirname, '../../dist/audit/store/data-store.js');
const { DataStore: Built } = (await import(built)) as Module;

const PASSWORD = 'planted-pw/Rt5#Ky';
const POSTGRES = '/usr/lib/postgresql/15/bin';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'gitplane-store-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

interface Given {
  readonly endpoint: string;
  readonly directory?: string;
  readonly keptMs?: number;
  refused?(error: unknown): void;
}

async function opened({ directory = '/', keptMs = 0, ...given }: Given): Promise<DataStore> {
  const refused = given.refused ?? (() => undefined);
  const store = new Built({ ...given, directory, keptMs, refused });
  onTestFinished(() => store.close());
  await store.open();
  return store;
}

interface Fields {
  readonly id: string;
  readonly stage?: string;
  readonly time?: number;
  readonly user?: string;
  readonly revision?: string;
  readonly name?: string;
}

function line(fields: Fields): Buffer {
  const { id, stage = 'ResponseComplete', time = Date.now(), user = 'ann', revision } = fields;
  const event = {
    kind: 'Event',
    level: 'Metadata',
    auditID: id,
    stage,
    requestURI: '/x',
    verb: 'get',
    user: { username: user },
    objectRef: { resource: 'teams', name: fields.name ?? 'a' },
    responseStatus: { code: 200 },
    stageTimestamp: new Date(time).toISOString().replace('Z', '000Z'),
    annotations: revision === undefined ? {} : { 'gitplane.dev/revision': revision },
  };
  return Buffer.from(`${JSON.stringify(event)}\n`);
}

async function ids(store: DataStore, query: object = {}): Promise<string[]> {
  const found = await store.find({ limit: 100, ...query });
  return found.map((event) => JSON.parse(event).auditID);
}

const DAY = 86_400_000;

/** What both must do. `endpoint` gives a fresh one for each test. */
function behaves(endpoint: () => Promise<string>): void {
  // covers: audit.dataStoreEndpoint
  test('keeps events once each, and finds them by what they say', async () => {
    const store = await opened({ endpoint: await endpoint() });
    const first = line({ id: '1', revision: 'abc' });
    expect(await store.append([first, line({ id: '2', user: 'bob' })])).toBe(0);
    // A batch is sent again if it is unknown whether it was written.
    expect(await store.append([first, line({ id: '1', stage: 'RequestReceived' })])).toBe(0);
    expect(await ids(store)).toEqual(['1', '2', '1']);
    expect(await ids(store, { username: 'bob' })).toEqual(['2']);
    expect(await ids(store, { revision: 'abc' })).toEqual(['1']);
    expect(await ids(store, { resource: 'teams', name: 'b' })).toEqual([]);
    expect(await ids(store, { until: Date.now() - DAY })).toEqual([]);
    expect(await ids(store, { since: Date.now() - DAY, limit: 1 })).toEqual(['1']);
  });

  // covers: audit.dataStoreTTL
  test('forgets what is older than it keeps, and nothing else', async () => {
    const at = await endpoint();
    const first = await opened({ endpoint: at });
    const old = Array.from({ length: 30 }, (_, i) =>
      line({ id: `old-${i}`, time: Date.now() - 3 * DAY }),
    );
    await first.append([...old, line({ id: 'young', time: Date.now() - DAY })]);
    await first.close();
    const forEver = await opened({ endpoint: at });
    expect(await ids(forEver)).toHaveLength(31);
    await forEver.close();
    const store = await opened({ endpoint: at, keptMs: 2 * DAY });
    await expect.poll(() => ids(store)).toEqual(['young']);
  });

  test('counts what can never be kept, and keeps what came with it', async () => {
    const store = await opened({ endpoint: await endpoint() });
    const odd = line({ id: 'odd', name: '\0 \ud800', user: "'; drop table x --" });
    expect(await store.append([Buffer.from('no event\n'), line({ id: '1' }), odd])).toBe(1);
    expect(await ids(store)).toEqual(['odd', '1']);
  });

  test('is back after a restart', async () => {
    const at = await endpoint();
    const first = await opened({ endpoint: at });
    await first.append([line({ id: '1' })]);
    await first.close();
    const second = await opened({ endpoint: at });
    expect(await ids(second)).toEqual(['1']);
  });
}

describe('a file of SQLite', () => {
  behaves(async () => `sqlite://${join(folder(), 'audit.db')}`);

  test('is in the data directory where its path is relative, and for its owner alone', async () => {
    const directory = folder();
    await opened({ endpoint: 'sqlite://audit.db', directory });
    expect(statSync(join(directory, 'audit.db')).mode & 0o777).toBe(0o600);
  });

  test('has one writer, and another takes it over where that one was killed', async () => {
    const path = join(folder(), 'audit.db');
    const endpoint = `sqlite://${path}`;
    const first = await opened({ endpoint });
    await first.append([line({ id: '1' })]);
    await first.close();
    // What a killed process leaves behind, and what one of another machine says that lives.
    mkdirSync(`${path}.lock`);
    writeFileSync(`${path}.owner`, `${hostname()} 999999999 1`);
    const second = await opened({ endpoint });
    expect(await ids(second)).toEqual(['1']);
    await second.close();
    writeFileSync(`${path}.owner`, 'elsewhere 7 1');
    await expect(opened({ endpoint })).rejects.toThrow('in use by process 7 of elsewhere');
  });
});

const hasPostgres = existsSync(`${POSTGRES}/initdb`);
if (!hasPostgres) process.stderr.write('PostgreSQL 15 is missing: its tests are skipped\n');

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  let root: string;
  let stop: () => Promise<void>;
  let made = 0;
  const port = 40_000 + (process.pid % 20_000);
  const address = (password: string, database: string): string =>
    `postgres://gitplane:${encodeURIComponent(password)}@localhost/${database}?host=${encodeURIComponent(root)}&port=${port}`;
  /** The server refuses to run as root. */
  const asOther = (program: string, args: string[]): [string, string[]] =>
    process.getuid?.() === 0
      ? ['setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', program, ...args]]
      : [program, args];
  const run = (program: string, args: string[]): void => {
    const [file, words] = asOther(join(POSTGRES, program), args);
    execFileSync(file, words, { stdio: 'pipe', cwd: root });
  };

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'gp-'));
    execFileSync('chmod', ['777', root]);
    writeFileSync(join(root, 'password'), PASSWORD, { mode: 0o644 });
    const data = join(root, 'data');
    const auth = ['-U', 'gitplane', '-A', 'scram-sha-256', `--pwfile=${root}/password`];
    run('initdb', ['-D', data, '-N', ...auth, '--no-instructions']);
    // A socket and no port: nothing else is in its way.
    const settings = ['-c', 'fsync=off', '-c', 'listen_addresses=', '-k', root, '-p', String(port)];
    const [file, words] = asOther(`${POSTGRES}/postgres`, ['-D', data, ...settings]);
    const server = spawn(file, words, { stdio: ['ignore', 'ignore', 'pipe'], cwd: root });
    let said = '';
    server.stderr.on('data', (text) => {
      said += text;
    });
    await vi.waitFor(() => expect(said).toContain('ready to accept connections'), {
      timeout: 60_000,
    });
    stop = async () => {
      server.kill('SIGINT');
      await once(server, 'exit');
    };
  });

  afterAll(async () => {
    await stop?.();
    rmSync(root, { recursive: true, force: true });
  });

  async function fresh(): Promise<string> {
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: address(PASSWORD, 'postgres') });
    await client.connect();
    const name = `audit_${++made}`;
    await client.query(`create database ${name}`);
    await client.end();
    return address(PASSWORD, name);
  }

  behaves(fresh);

  test('creates its tables once under concurrent opens, and does not touch newer tables', async () => {
    const endpoint = await fresh();
    const stores = await Promise.all(Array.from({ length: 3 }, () => opened({ endpoint })));
    await Promise.all(stores.map((store, i) => store.append([line({ id: `${i}` })])));
    expect((await ids(stores[0] as DataStore)).sort()).toEqual(['0', '1', '2']);
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: endpoint });
    await client.connect();
    await client.query('update gitplane_audit_schema set version = 99');
    await client.end();
    await expect(opened({ endpoint })).rejects.toThrow('version 99');
  });

  test('says no password where it cannot be reached', async () => {
    const wrong = 'wrong-Zq8!x';
    const said = await opened({ endpoint: address(wrong, 'postgres') }).catch(String);
    expect(said).toContain('password authentication failed');
    const nowhere = `postgres://gitplane:${wrong}@localhost:1/x`;
    const refused = await opened({ endpoint: nowhere }).catch((error) => String(error.stack));
    expect(refused).toContain('ECONNREFUSED');
    expect(`${said} ${refused}`).not.toContain('Zq8');
  });
});
