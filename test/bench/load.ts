/** Load: many connections, each with one request at a time, for a given time. */
import { type Endpoint, HttpConnection, type Reply } from './http-connection.ts';

export interface Load {
  readonly endpoint: Endpoint;
  readonly connections: number;
  readonly ms: number;
  /** The next request; undefined ends its connection. */
  next(): Buffer | undefined;
  /** The status that every answer must have. */
  readonly status: number;
}

/** Answers a second. Throws when an answer is not what it must be. */
export async function throughput(load: Load): Promise<number> {
  const connections = await Promise.all(
    Array.from({ length: load.connections }, () => HttpConnection.open(load.endpoint)),
  );
  try {
    const started = performance.now();
    const deadline = started + load.ms;
    const counts = await Promise.all(connections.map((one) => drive(one, load, deadline)));
    const seconds = (performance.now() - started) / 1000;
    return counts.reduce((sum, count) => sum + count, 0) / seconds;
  } finally {
    for (const connection of connections) connection.close();
  }
}

async function drive(connection: HttpConnection, load: Load, deadline: number): Promise<number> {
  let count = 0;
  while (performance.now() < deadline) {
    const request = load.next();
    if (request === undefined) break;
    assertStatus(await connection.send(request), load.status);
    count += 1;
  }
  return count;
}

export function assertStatus({ status, body }: Reply, expected: number): void {
  if (status === expected) return;
  const said = body === undefined ? '' : `: ${body.toString('utf8', 0, 300)}`;
  throw new Error(`The server answered ${status} instead of ${expected}${said}`);
}
