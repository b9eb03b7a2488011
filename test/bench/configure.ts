/** The configuration of a daemon that is measured. */
import { API, type DaemonProcess } from './daemon-process.ts';
import { HttpConnection, requestBytes } from './http-connection.ts';
import { assertStatus } from './load.ts';

/** POST makes the Config, PATCH changes it. */
export async function configure(
  { http, token }: DaemonProcess,
  method: 'POST' | 'PATCH',
  raw: string,
): Promise<void> {
  const body = Buffer.from(JSON.stringify({ metadata: { name: 'platform' }, spec: { raw } }));
  const path = method === 'POST' ? `${API}/configs` : `${API}/configs/platform`;
  const type = method === 'POST' ? 'application/json' : 'application/merge-patch+json';
  const connection = await HttpConnection.open(http);
  const change = requestBytes({ method, path, token, body, type });
  assertStatus(await connection.send(change, true), method === 'POST' ? 201 : 200);
  connection.close();
}
