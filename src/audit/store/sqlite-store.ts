/**
 * Audit events in an SQLite file, through SQLite in WebAssembly. Its file access is synchronous, so
 * it runs in its own thread. The file belongs to one daemon, see `sqlite-owner.ts`.
 */
import { chmodSync, closeSync, constants, openSync } from 'node:fs';
import type { Database, Statement } from 'node-sqlite3-wasm';
import {
  COLUMNS,
  type EventQuery,
  type EventRow,
  type EventStore,
  newerSchema,
  SCHEMA_VERSION,
  selectEvents,
  valuesOf,
} from './event-store.ts';
import { SqliteOwner } from './sqlite-owner.ts';

const SCHEMA = `
create table gitplane_audit_events (
  id integer primary key,
  audit_id text not null,
  stage text not null,
  source text not null,
  time integer not null,
  level text not null,
  username text not null,
  verb text not null,
  uri text not null,
  api_group text not null,
  resource text not null,
  subresource text not null,
  namespace text not null,
  name text not null,
  code integer,
  revision text,
  event text not null,
  unique (audit_id, stage, source)
);
create index gitplane_audit_events_time on gitplane_audit_events (time);
create index gitplane_audit_events_user on gitplane_audit_events (username, time);
create index gitplane_audit_events_revision on gitplane_audit_events (revision) where revision is not null;
pragma user_version = ${SCHEMA_VERSION};
`;

const INSERT = `insert or ignore into gitplane_audit_events (${COLUMNS.join(', ')}) values (${COLUMNS.map(() => '?').join(', ')})`;
const REMOVE = `delete from gitplane_audit_events where id in (select id from gitplane_audit_events where time < ? limit ?)`;

interface Opened {
  readonly database: Database;
  readonly insert: Statement;
}

export class SqliteStore implements EventStore {
  readonly #path: string;
  readonly #owner: SqliteOwner;
  #opened: Opened | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#owner = new SqliteOwner(path);
  }

  async open(): Promise<void> {
    await this.#ready();
  }

  async insert(rows: readonly EventRow[]): Promise<number> {
    const { insert } = await this.#ready();
    await this.#inTransaction(() => {
      for (const row of rows) insert.run(valuesOf(row));
    });
    return 0;
  }

  async remove(before: number, most: number): Promise<number> {
    const { database } = await this.#ready();
    const { changes } = database.run(REMOVE, [before, most]);
    // Returns free pages to the file system.
    if (changes > 0) database.exec('pragma incremental_vacuum');
    return changes;
  }

  async find(query: EventQuery): Promise<string[]> {
    const { database } = await this.#ready();
    const dialect = { time: (parameter: string) => parameter, event: 'event' };
    const { sql, values } = selectEvents(query, dialect);
    return database.all(sql, values).map((row) => String(row['event']));
  }

  async close(): Promise<void> {
    this.#close();
    this.#owner.release();
  }

  async #inTransaction(work: () => void): Promise<void> {
    const { database } = await this.#ready();
    try {
      database.exec('begin immediate');
      work();
      database.exec('commit');
    } catch (error) {
      // After any error the next attempt starts from the contents of the file.
      this.#close();
      throw error;
    }
  }

  async #ready(): Promise<Opened> {
    if (this.#opened !== undefined) return this.#opened;
    this.#owner.acquire();
    // Creates a missing file with private permissions, and does not follow a link: no other user
    // may read it.
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
    closeSync(openSync(this.#path, flags, 0o600));
    chmodSync(this.#path, 0o600);
    const library = (await import('node-sqlite3-wasm')).default;
    const database = new library.Database(this.#path);
    try {
      // A single owner needs no locks. The journal file stays, for reuse by the next transaction.
      database.exec('pragma locking_mode = exclusive; pragma auto_vacuum = incremental');
      database.exec('pragma journal_mode = persist; pragma synchronous = full');
      migrate(database);
      this.#opened = { database, insert: database.prepare(INSERT) };
      return this.#opened;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #close(): void {
    const { insert, database } = this.#opened ?? {};
    this.#opened = undefined;
    try {
      if (database?.inTransaction === true) database.exec('rollback');
      insert?.finalize();
    } finally {
      database?.close();
    }
  }
}

function migrate(database: Database): void {
  const version = Number(database.get('pragma user_version')?.['user_version'] ?? 0);
  if (version > SCHEMA_VERSION) throw newerSchema(version);
  if (version === 0) database.exec(`begin immediate; ${SCHEMA} commit;`);
}
