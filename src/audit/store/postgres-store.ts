/** Audit events in PostgreSQL. Several daemons may use the same tables. */
import type { Client } from 'pg';
import { codeOf } from '../error-code.ts';
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

const SCHEMA = `
create table gitplane_audit_events (
  id bigint generated always as identity primary key,
  audit_id text not null,
  stage text not null,
  source text not null,
  time timestamptz not null,
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
  event json not null,
  unique (audit_id, stage, source)
);
create index gitplane_audit_events_time on gitplane_audit_events (time);
create index gitplane_audit_events_user on gitplane_audit_events (username, time);
create index gitplane_audit_events_revision on gitplane_audit_events (revision) where revision is not null;
create table gitplane_audit_schema (version integer not null);
insert into gitplane_audit_schema values (${SCHEMA_VERSION});
`;

/** Advisory lock for the creation of tables: any number that no other program uses. */
const SCHEMA_LOCK = 0x67697470;

const TYPES: Partial<Record<(typeof COLUMNS)[number], string>> = {
  time: 'double precision',
  code: 'integer',
};
const UNNEST = COLUMNS.map((column, index) => `$${index + 1}::${TYPES[column] ?? 'text'}[]`);
const SELECTED = COLUMNS.map((column) => {
  if (column === 'time') return 'to_timestamp(time / 1000)';
  return column === 'event' ? 'event::json' : column;
});
const INSERT = `insert into gitplane_audit_events (${COLUMNS.join(', ')}) select ${SELECTED.join(', ')} from unnest(${UNNEST.join(', ')}) as given (${COLUMNS.join(', ')}) on conflict do nothing`;
const REMOVE =
  'delete from gitplane_audit_events where id in (select id from gitplane_audit_events where time < to_timestamp($1::double precision / 1000) limit $2)';

const CONNECT_WITHIN_MS = 5000;
const ANSWER_WITHIN_MS = 30_000;
/** SQLSTATE classes of values that the database cannot store. */
const BAD_VALUE = /^(22|23)/;

export class PostgresStore implements EventStore {
  readonly #url: string;
  #client: Client | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  async open(): Promise<void> {
    await this.#ready();
  }

  async insert(rows: readonly EventRow[]): Promise<number> {
    try {
      await this.#insert(rows);
      return 0;
    } catch (error) {
      if (!BAD_VALUE.test(codeOf(error))) throw error;
      return await this.#insertEach(rows);
    }
  }

  async remove(before: number, most: number): Promise<number> {
    const client = await this.#ready();
    const { rowCount } = await client.query(REMOVE, [before, most]);
    return rowCount ?? 0;
  }

  async find(query: EventQuery): Promise<string[]> {
    const client = await this.#ready();
    const time = (parameter: string): string =>
      `to_timestamp(${parameter}::double precision / 1000)`;
    const { sql, values } = selectEvents(query, { time, event: 'event::text as event' });
    const { rows } = await client.query<{ event: string }>(sql, values);
    return rows.map(({ event }) => event);
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  async #insert(rows: readonly EventRow[]): Promise<void> {
    const client = await this.#ready();
    const values = rows.map(valuesOf);
    const columns = COLUMNS.map((_, index) => values.map((row) => row[index]));
    await client.query({ name: 'insert', text: INSERT, values: columns });
  }

  /**
   * Inserts events one by one, so that an event that cannot be stored does not block the others.
   */
  async #insertEach(rows: readonly EventRow[]): Promise<number> {
    let lost = 0;
    for (const row of rows) {
      try {
        await this.#insert([row]);
      } catch (error) {
        if (!BAD_VALUE.test(codeOf(error))) throw error;
        lost++;
      }
    }
    return lost;
  }

  async #ready(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    const { default: pg } = await import('pg');
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'gitplane-audit',
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      query_timeout: ANSWER_WITHIN_MS,
      statement_timeout: ANSWER_WITHIN_MS,
      keepAlive: true,
    });
    // A lost connection is opened again for the next batch.
    const lost = (): void => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on('error', lost);
    client.on('end', lost);
    try {
      await client.connect();
      await migrate(client);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    return client;
  }
}

async function migrate(client: Client): Promise<void> {
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
    const found = await client.query<{ found: string | null }>(
      "select to_regclass('gitplane_audit_schema')::text as found",
    );
    if (found.rows[0]?.found == null) await client.query(SCHEMA);
    else await checkVersion(client);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

async function checkVersion(client: Client): Promise<void> {
  const { rows } = await client.query<{ version: number }>(
    'select max(version) as version from gitplane_audit_schema',
  );
  const version = rows[0]?.version ?? 0;
  if (version > SCHEMA_VERSION) throw newerSchema(version);
}
