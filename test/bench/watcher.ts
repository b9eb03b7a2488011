/** A watch on a collection, as any client would open it, that notes when changes arrive. */
import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { API, type DaemonProcess } from './daemon-process.ts';
import { HttpConnection, requestBytes } from './http-connection.ts';
import { assertStatus } from './load.ts';

/** Words that the corpus puts into descriptions. */
const MARK = /change-\d+/;
const PATIENCE_MS = 20_000;

export interface Watcher {
  /** When (performance.now) the change with this mark was delivered. */
  arrival(mark: string): Promise<number>;
  close(): void;
}

export async function watchSecrets(daemon: DaemonProcess): Promise<Watcher> {
  const response = await open(daemon, await newestVersion(daemon));
  const arrived = new Map<string, number>();
  const waiting = new Map<string, (at: number) => void>();
  createInterface({ input: response }).on('line', (line) => {
    const at = performance.now();
    const mark = MARK.exec(line)?.[0];
    if (mark === undefined) return;
    arrived.set(mark, at);
    waiting.get(mark)?.(at);
    waiting.delete(mark);
  });
  const arrival = async (mark: string): Promise<number> => {
    const at = arrived.get(mark);
    if (at !== undefined) return at;
    return await new Promise((resolve, reject) => {
      const fail = (): void => reject(new Error(`${mark} was not delivered in ${PATIENCE_MS} ms`));
      const timer = setTimeout(fail, PATIENCE_MS);
      waiting.set(mark, (when) => {
        clearTimeout(timer);
        resolve(when);
      });
    });
  };
  return { arrival, close: () => response.destroy() };
}

export async function newestVersion({ http, token }: DaemonProcess): Promise<string> {
  const connection = await HttpConnection.open(http);
  const path = `${API}/sharedsecrets?limit=1`;
  const reply = await connection.send(requestBytes({ method: 'GET', path, token }), true);
  connection.close();
  assertStatus(reply, 200);
  return JSON.parse(reply.body?.toString('utf8') ?? '').metadata.resourceVersion;
}

function open({ http, token }: DaemonProcess, since: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const path = `${API}/sharedsecrets?watch=true&resourceVersion=${since}`;
    const headers = { authorization: `Bearer ${token}` };
    const sent = request({ host: '127.0.0.1', port: http.port, path, headers }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`The watch was answered with ${response.statusCode}`));
    });
    sent.on('error', reject);
    sent.end();
  });
}
