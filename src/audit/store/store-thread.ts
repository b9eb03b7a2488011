/**
 * The thread of a data store of audit events: it parses the lines, writes them, and removes old
 * events, one request at a time in order.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { isRecord } from '../../apimachinery/index.ts';
import { answerRequests, Mutex, notify } from '../../concurrency/index.ts';
import type { DataStoreEndpoint } from '../../kinds/index.ts';
import { eventRows } from './event-rows.ts';
import type { EventStore } from './event-store.ts';
import { PostgresStore } from './postgres-store.ts';
import { SqliteStore } from './sqlite-store.ts';
import type { ThreadFailure, ThreadReply, ThreadRequest, ThreadSetup } from './thread-messages.ts';

const { endpoint, keptMs } = workerData as ThreadSetup;
const store: EventStore =
  endpoint.kind === 'sqlite' ? new SqliteStore(endpoint.path) : new PostgresStore(endpoint.url);

/** Rows per removal. Small removals keep other requests from waiting. */
const REMOVED_AT_ONCE = 2000;
const LEAST_MS = 60_000;
const MOST_MS = 3_600_000;

const mutex = new Mutex();
let timer: NodeJS.Timeout | undefined;

answerRequests<ThreadRequest, ThreadReply>((request) =>
  mutex.run(async () => {
    try {
      return { result: await act(request) };
    } catch (error) {
      return { failure: failureOf(error, endpoint) };
    }
  }),
);

async function act(request: ThreadRequest): Promise<unknown> {
  switch (request.act) {
    case 'open':
      await store.open();
      removeOld();
      return undefined;
    case 'append': {
      const { buffer, byteOffset, length } = request.lines;
      const { rows, lost } = eventRows(Buffer.from(buffer, byteOffset, length).toString());
      return lost + (rows.length === 0 ? 0 : await store.insert(rows));
    }
    case 'find':
      return await store.find(request.query);
    case 'close':
      clearTimeout(timer);
      timer = undefined;
      await store.close();
      parentPort?.close();
      return undefined;
  }
}

/** Starts the removal of old events for a store that opens; it reschedules itself. */
function removeOld(): void {
  if (keptMs === 0 || timer !== undefined) return;
  const again = (ms: number): void => {
    timer = setTimeout(() => void mutex.run(removeSome), ms).unref();
  };
  const removeSome = async (): Promise<void> => {
    if (timer === undefined) return;
    let removed = 0;
    try {
      removed = await store.remove(Date.now() - keptMs, REMOVED_AT_ONCE);
    } catch (error) {
      notify(failureOf(error, endpoint));
    }
    again(removed < REMOVED_AT_ONCE ? Math.min(Math.max(keptMs / 24, LEAST_MS), MOST_MS) : 0);
  };
  again(0);
}

/** Messages of libraries and servers may contain the endpoint with its credentials. */
function failureOf(error: unknown, of: DataStoreEndpoint): ThreadFailure {
  const { message, code }: Readonly<Record<string, unknown>> = isRecord(error) ? error : {};
  const text = typeof message === 'string' && message !== '' ? message : String(code ?? error);
  const secrets =
    of.kind === 'postgres' ? [of.url, of.password, encodeURIComponent(of.password)] : [];
  const shown = secrets
    .filter((secret) => secret !== '')
    .reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
  return { message: shown, code: typeof code === 'string' ? code : undefined };
}
