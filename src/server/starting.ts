/**
 * Answers while the platform starts: `/livez` is healthy, `/readyz` shows the progress, and every other
 * request gets a Status with the time to come back.
 */
import { unavailable } from '../apimachinery/index.ts';
import { answerHealth } from './documents/health.ts';
import { secureHeaders } from './filters/hardening.ts';
import type { Handler } from './listener.ts';
import { encodeStatus } from './output/representation.ts';

const RETRY_SECONDS = 1;

export interface StartingOptions {
  /** API root: `/kubernetes/management`. */
  readonly root: string;
  /** Description of what the start is doing. */
  progress(): string;
}

export function startingHandler({ root, progress }: StartingOptions): Handler {
  const checks = { live: { ping: () => undefined }, ready: { start: progress } };
  return (request, response) => {
    const { url = '/', headers } = request;
    const [path = '/', query] = url.split('?', 2);
    secureHeaders(response);
    response.setHeader('cache-control', 'no-store');
    const own = path.startsWith(`${root}/`) ? path.slice(root.length) : path;
    const health = answerHealth(checks, own, new URLSearchParams(query));
    if (health !== undefined) {
      const code = health.code === 200 ? 200 : 503;
      if (code === 503) response.setHeader('retry-after', String(RETRY_SECONDS));
      response.writeHead(code, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(health.text);
      return;
    }
    const status = unavailable(`The daemon is starting: ${progress()}`, RETRY_SECONDS);
    const { contentType, body } = encodeStatus(status.toStatus(), headers.accept);
    response.setHeader('retry-after', String(RETRY_SECONDS));
    response.writeHead(503, { 'content-type': contentType });
    response.end(body);
  };
}
