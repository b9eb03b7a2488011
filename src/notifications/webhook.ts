/** Webhooks: CloudEvents with a signature of Standard Webhooks, and messages to a chat. */
import { createHmac } from 'node:crypto';
import type { Clock } from '../apimachinery/index.ts';
import { type HttpClient, UnreachableError } from '../outbound/index.ts';
import { assertAccepted, type Delivery, DeliveryError } from '../outbox/index.ts';
import { cloudEvent, linesOf, type NotificationEvent, titleOf } from './event.ts';

export interface Sending {
  readonly delivery: Pick<Delivery, 'id' | 'created'>;
  readonly event: NotificationEvent;
  /** URL of the platform. */
  readonly source: string;
  readonly clock: Clock;
  readonly http: HttpClient;
  readonly signal: AbortSignal;
}

/** Rejects with DeliveryError. */
export async function sendWebhook(
  { delivery, event, source, clock, http, signal }: Sending,
  { url, secret }: { readonly url: string; readonly secret: string },
): Promise<void> {
  // Anyone can make a signature with an empty key. A file is empty while it is being replaced.
  if (keyOf(secret).length === 0) {
    throw new DeliveryError('The secret of the receiver is empty', { problem: 'unavailable' });
  }
  const body = JSON.stringify(cloudEvent(delivery, event, source));
  const timestamp = String(Math.floor(clock.now() / 1000));
  const headers = {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'user-agent': 'gitplane',
    'webhook-id': delivery.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature(secret, `${delivery.id}.${timestamp}.${body}`),
  };
  await post({ http, url, headers, body, signal, clock });
}

/** Rejects with DeliveryError. */
export async function sendToChat(
  { event, source, clock, http, signal }: Sending,
  { url }: { readonly url: string },
): Promise<void> {
  const title = `*${titleOf(event)}* (${source})`;
  const text = [title, ...linesOf(event).map((line) => `• ${line}`)].map(escaped).join('\n');
  const headers = { 'content-type': 'application/json', 'user-agent': 'gitplane' };
  await post({ http, url, headers, body: JSON.stringify({ text }), signal, clock });
}

/** `v1,<base64>` of HMAC-SHA256. */
export function signature(secret: string, text: string): string {
  return `v1,${createHmac('sha256', keyOf(secret)).update(text).digest('base64')}`;
}

/** The base64 after `whsec_`, else the bytes of the text. Text that is not base64 is an empty key. */
function keyOf(secret: string): Buffer {
  const isEncoded = secret.startsWith('whsec_');
  return isEncoded ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret);
}

async function post(of: {
  readonly http: HttpClient;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}): Promise<void> {
  const { http, clock, ...request } = of;
  if (!URL.canParse(request.url)) {
    throw new DeliveryError('The address of the receiver is not a URL', { problem: 'unavailable' });
  }
  try {
    const answer = await http.send({ method: 'POST', ...request });
    assertAccepted(new URL(request.url).origin, answer, clock.now());
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    throw new DeliveryError(error.message, { problem: 'unavailable', cause: error });
  }
}

/**
 * Slack reads these three characters as markup, such as a mention of everyone. Mattermost reads a plain
 * `@channel` too, which an invisible space breaks up.
 */
function escaped(text: string): string {
  return text
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/(?<!\w)@(?=\w)/g, '@\u200b');
}
