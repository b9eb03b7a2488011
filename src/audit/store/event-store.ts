/** Interface of a data store of audit events; its thread uses nothing else. */

/** An event with the columns that queries can filter by. */
export interface EventRow {
  readonly auditId: string;
  readonly stage: string;
  /** Sender of the event; empty: the platform itself. */
  readonly source: string;
  /** In milliseconds. */
  readonly time: number;
  readonly level: string;
  readonly username: string;
  readonly verb: string;
  readonly uri: string;
  readonly apiGroup: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly code: number | null;
  readonly revision: string | null;
  /** The whole event, as JSON. */
  readonly event: string;
}

/** Filters of a query, combined with AND. */
export interface EventQuery {
  readonly auditId?: string | undefined;
  readonly username?: string | undefined;
  readonly verb?: string | undefined;
  readonly resource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly revision?: string | undefined;
  readonly source?: string | undefined;
  /** Earliest time, in milliseconds. */
  readonly since?: number | undefined;
  /** Latest time, exclusive, in milliseconds. */
  readonly until?: number | undefined;
  readonly limit: number;
}

export interface EventStore {
  /** Creates or upgrades the tables. */
  open(): Promise<void>;
  /**
   * Writes all events or none; events that exist already are skipped. Returns the number of events
   * that it can never accept.
   */
  insert(rows: readonly EventRow[]): Promise<number>;
  /** Removes some of the events before a time, in milliseconds; returns their number. */
  remove(before: number, most: number): Promise<number>;
  /** JSON texts, newest first. */
  find(query: EventQuery): Promise<string[]>;
  close(): Promise<void>;
}

/** Version of the tables. Newer tables are not touched. */
export const SCHEMA_VERSION = 1;

export function newerSchema(version: number): Error {
  return new Error(
    `The tables of the data store are of version ${version}, and this program knows ${SCHEMA_VERSION}: use a newer version of it, or another data store`,
  );
}

export const COLUMNS = [
  'audit_id',
  'stage',
  'source',
  'time',
  'level',
  'username',
  'verb',
  'uri',
  'api_group',
  'resource',
  'subresource',
  'namespace',
  'name',
  'code',
  'revision',
  'event',
] as const;

/** In the order of the columns. */
export function valuesOf(row: EventRow): (string | number | null)[] {
  return [
    row.auditId,
    row.stage,
    row.source,
    row.time,
    row.level,
    row.username,
    row.verb,
    row.uri,
    row.apiGroup,
    row.resource,
    row.subresource,
    row.namespace,
    row.name,
    row.code,
    row.revision,
    row.event,
  ];
}

interface Dialect {
  /** A time in milliseconds as a parameter for the time column. */
  time(parameter: string): string;
  readonly event: string;
}

/** The query as SQL, with its parameters in order. */
export function selectEvents(
  query: EventQuery,
  dialect: Dialect,
): { readonly sql: string; readonly values: (string | number)[] } {
  const values: (string | number)[] = [];
  const parameter = (value: string | number): string => `$${values.push(value)}`;
  const { since, until, limit } = query;
  const fields = [
    ['audit_id', query.auditId],
    ['username', query.username],
    ['verb', query.verb],
    ['resource', query.resource],
    ['namespace', query.namespace],
    ['name', query.name],
    ['revision', query.revision],
    ['source', query.source],
  ] as const;
  const given = fields.flatMap(([column, value]) =>
    value === undefined ? [] : [`${column} = ${parameter(value)}`],
  );
  if (since !== undefined) given.push(`time >= ${dialect.time(parameter(since))}`);
  if (until !== undefined) given.push(`time < ${dialect.time(parameter(until))}`);
  const where = given.length === 0 ? '' : ` where ${given.join(' and ')}`;
  const order = ` order by id desc limit ${parameter(limit)}`;
  return { sql: `select ${dialect.event} from gitplane_audit_events${where}${order}`, values };
}
