/**
 * The database of audit events (`audit.dataStoreEndpoint`): `sqlite:///file` or
 * `postgres://user:password@host/database`. Messages never repeat the endpoint, because it holds a
 * password.
 */

export type DataStoreEndpoint =
  | {
      readonly kind: 'sqlite';
      /** Absolute, or relative to the data directory. */
      readonly path: string;
    }
  | { readonly kind: 'postgres'; readonly url: string; readonly password: string };

/** Returns an error text if the endpoint is invalid. */
export function readDataStoreEndpoint(text: string): DataStoreEndpoint | string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === 'sqlite') return readSqlite(text);
  if (scheme === 'postgres' || scheme === 'postgresql') return readPostgres(text);
  return 'must be sqlite:///path/of/a/file or postgres://user:password@host:port/database';
}

function readSqlite(text: string): DataStoreEndpoint | string {
  const match = /^sqlite:\/\/([^?#]+)$/i.exec(text);
  const path = match?.[1] === undefined ? undefined : decoded(match[1]);
  if (path === undefined || path.endsWith('/') || path.includes('\0')) {
    return 'must be the path of a file and nothing else, as in sqlite:///var/lib/gitplane/audit.db, or sqlite://audit.db in the data directory';
  }
  return { kind: 'sqlite', path };
}

function readPostgres(text: string): DataStoreEndpoint | string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const password = decoded(url?.password ?? '');
  if (url === undefined || password === undefined || url.hostname === '') {
    return 'must be an URL with a host, as in postgres://user:password@host:5432/database; write special characters of the password as %XX';
  }
  if (url.pathname.length < 2)
    return 'must name a database, as in postgres://user:password@host/database';
  if (url.hash !== '') return 'must have no "#": write it as %23';
  return { kind: 'postgres', url: text, password };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
