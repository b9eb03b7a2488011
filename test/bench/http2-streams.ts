/** Watches over HTTP/2, many to a connection, as client-go opens them. */
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { createSecureContext } from 'node:tls';
import type { Endpoint } from './http-connection.ts';

/** No more than kube-apiserver allows by default. */
const STREAMS_A_CONNECTION = 100;

export interface Http2Streams {
  readonly streams: readonly ClientHttp2Stream[];
  close(): void;
}

export async function openHttp2Streams(
  { port, ca }: Endpoint,
  { path, token }: { path: string; token: string },
  count: number,
): Promise<Http2Streams> {
  const secureContext = createSecureContext({ ca });
  const sessions: ClientHttp2Session[] = [];
  const streams: ClientHttp2Stream[] = [];
  const close = (): void => {
    for (const session of sessions) session.destroy();
  };
  try {
    while (streams.length < count) {
      const session = connect(`https://127.0.0.1:${port}`, { secureContext });
      sessions.push(session);
      await once(session, 'connect');
      const some = Math.min(STREAMS_A_CONNECTION, count - streams.length);
      const open = Array.from({ length: some }, () => openStream(session, { path, token }));
      streams.push(...(await Promise.all(open)));
    }
  } catch (error) {
    close();
    throw error;
  }
  return { streams, close };
}

async function openStream(
  session: ClientHttp2Session,
  { path, token }: { path: string; token: string },
): Promise<ClientHttp2Stream> {
  const headers = { ':path': path, accept: 'application/json', authorization: `Bearer ${token}` };
  const stream = session.request(headers);
  const [{ ':status': status }] = await once(stream, 'response');
  if (status !== 200) throw new Error(`The watch was answered with ${status}`);
  // A stream that nothing reads takes no data.
  return stream.resume();
}
