/** Requests of a replica itself to the leader. */
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { ForwardOptions } from '../../server/index.ts';

const TIMEOUT_MS = 5000;

/** Rejects unless the leader accepts the request. */
export async function postToLeader(
  { leaders, route }: Pick<ForwardOptions, 'leaders' | 'route'>,
  path: string,
  body: object,
): Promise<void> {
  const { leader } = leaders;
  if (leader?.ready !== true) throw new Error('no replica leads at the moment');
  const { host, port, agent, tls } = route(leader);
  const send = tls ? tlsRequest : plainRequest;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const code = await new Promise<number | undefined>((resolve, reject) => {
    const post = send({ host, port, agent, method: 'POST', path, headers, signal }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode));
    });
    post.once('error', reject);
    post.end(text);
  });
  if (code !== 204) throw new Error(`the leader answered ${code} to ${path}`);
}
