/** Notifications: the alerts of the platform, the configured receivers, and the attempts to deliver. */
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTick } from 'node:timers/promises';
import { type Clock, describeKey, type JsonObject } from '../../apimachinery/index.ts';
import { WorkQueue } from '../../concurrency/index.ts';
import { credentialFileProblem, type PlatformConfigSource } from '../../config/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import {
  type Alert,
  Alerts,
  eventOf,
  NOTIFICATION,
  type NotificationEvent,
  readEvent,
  sendMail,
  sendToChat,
  sendWebhook,
} from '../../notifications/index.ts';
import { HttpClient } from '../../outbound/index.ts';
import { type Delivery, DeliveryError, type Outbox } from '../../outbox/index.ts';
import { conditionsOf, DEGRADED, type SyncReport } from '../../registry/index.ts';
import type { Store, StoredObject } from '../../state/index.ts';

export interface NotificationsParts {
  readonly outbox: Pick<Outbox, 'enqueue'>;
  readonly store: Pick<Store, 'document' | 'documents' | 'get' | 'list' | 'observe'>;
  readonly kinds: KindTable;
  readonly report: Pick<SyncReport, 'revision' | 'hold'>;
  readonly config: PlatformConfigSource;
  /** Names of the keys that expired. */
  readonly expiredKeys: () => readonly string[];
  /** URL of the platform. */
  readonly source: () => string;
  readonly credentialFolders: readonly string[];
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** Changes within this time are announced together. */
const INTERVAL_MS = 2000;
const APPLIED = 'notified:applied';
const OBJECTS_AT_ONCE = 500;
/** Most objects have no conditions and are not parsed. */
const MARK = Buffer.from('"conditions":[');

export class Notifications {
  readonly #parts: NotificationsParts;
  readonly #alerts: Alerts;
  /** Alerts of objects, by id. */
  readonly #objects = new Map<string, Alert>();
  readonly #http = new HttpClient({ maxBytes: 0 });
  readonly #queue: WorkQueue;
  readonly #stops: (() => void)[] = [];

  constructor(parts: NotificationsParts) {
    this.#parts = parts;
    this.#alerts = new Alerts(parts);
    this.#queue = new WorkQueue({
      reconcile: async () => {
        await this.announce().catch((error: unknown) => {
          parts.onError(error);
          throw error;
        });
        return INTERVAL_MS;
      },
      workers: 1,
    });
  }

  start(): void {
    this.#queue.add(NOTIFICATION);
  }

  /** Enqueues what changed since the last call. Without a receiver nothing is found out. */
  async announce(): Promise<void> {
    const receivers = this.#parts.config.current.notifications ?? [];
    if (receivers.length === 0) return;
    if (this.#stops.length === 0) await this.#follow();
    const present = new Map([
      ...this.#objects,
      ...this.#others().map((one) => [one.id, one] as const),
    ]);
    await this.#alerts.announce(present, receivers, this.#applied());
  }

  /** One attempt. Rejects with DeliveryError. */
  async deliver(delivery: Delivery, signal: AbortSignal): Promise<void> {
    const { config, source, clock } = this.#parts;
    const name = delivery.destination.slice(NOTIFICATION.length);
    const receiver = config.current.notifications?.find((one) => one.name === name);
    const event = readEvent(delivery.payload['event']);
    if (receiver === undefined || event === undefined) {
      throw new DeliveryError('it is not configured any more', { problem: 'obsolete' });
    }
    const sending = { delivery, event, source: source(), clock, http: this.#http, signal };
    const { webhook, slack, email } = receiver;
    if (webhook !== undefined) {
      const secret = await this.#secret(webhook.secret, webhook.secretFile);
      await sendWebhook(sending, { url: webhook.url, secret: secret ?? '' });
    } else if (slack !== undefined) {
      await sendToChat(sending, { url: (await this.#secret(slack.url, slack.urlFile)) ?? '' });
    } else if (email !== undefined) {
      const password = await this.#secret(email.password, email.passwordFile);
      const ca = await this.#secret(undefined, email.caFile);
      await sendMail(sending, { ...email, password, ca }, signal);
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    await this.#queue.stop();
    await this.#http.close();
  }

  /** Reads every object once, and then each change. */
  async #follow(): Promise<void> {
    const { kinds, store } = this.#parts;
    for (const { group, kind, storedIn } of kinds.kinds) {
      if (storedIn !== 'git' && storedIn !== 'file') continue;
      const collection = { group, kind };
      this.#stops.push(
        store.observe(collection, ({ type, current }) => this.#read(current, type === 'DELETED')),
      );
      for (const [index, { key }] of store.list(collection).items.entries()) {
        const stored = store.get(key);
        if (stored !== undefined) this.#read(stored, false);
        if (index % OBJECTS_AT_ONCE === 0) await nextTick();
      }
    }
  }

  #read(stored: StoredObject, isGone: boolean): void {
    const subject = describeKey(stored.key);
    const ids = TYPES.map(([type]) => `${type} ${subject}`);
    for (const id of ids) this.#objects.delete(id);
    if (isGone || !stored.json().includes(MARK)) return;
    const conditions = conditionsOf(stored.object.status);
    for (const [type, isAlert] of TYPES) {
      const found = conditions.find(isAlert);
      const id = `${type} ${subject}`;
      if (found !== undefined)
        this.#objects.set(id, { id, type, subject, message: found.message ?? '' });
    }
  }

  #others(): Alert[] {
    const { report, expiredKeys } = this.#parts;
    const { hold } = report;
    const held: Alert[] =
      hold === undefined
        ? []
        : [
            {
              id: `Held ${hold.head} ${hold.reason}`,
              type: 'Held',
              subject: `Commit ${hold.head ?? 'none'}`,
              message: `${hold.message}. ${hold.remedy}`,
            },
          ];
    const keys = expiredKeys().map((name): Alert => {
      return {
        id: `KeyExpired ${name}`,
        type: 'KeyExpired',
        subject: `Key "${name}"`,
        message: '',
      };
    });
    return [...held, ...keys];
  }

  #applied(): { events: NotificationEvent[]; documents: Record<string, JsonObject> } {
    const { report, store } = this.#parts;
    const { revision } = report;
    const before = store.document(APPLIED)?.['revision'];
    if (revision === undefined || revision === before) return { events: [], documents: {} };
    const message = typeof before === 'string' ? `follows ${before}` : '';
    const event = eventOf('Applied', 'Raised', [{ subject: `Commit ${revision}`, message }]);
    return { events: [event], documents: { [APPLIED]: { revision } } };
  }

  /** The value itself, or the text of its file. */
  async #secret(value: string | undefined, file: string | undefined): Promise<string | undefined> {
    if (file === undefined) return value;
    const refused = credentialFileProblem(file, this.#parts.credentialFolders);
    if (refused !== undefined) throw new DeliveryError(refused, { problem: 'unavailable' });
    try {
      return (await readFile(file, 'utf8')).trim();
    } catch (cause) {
      const { code = 'no reason' } = cause as NodeJS.ErrnoException;
      const message = `Cannot read ${file} (${code})`;
      throw new DeliveryError(message, { problem: 'unavailable', cause });
    }
  }
}

type IsAlert = (condition: ReturnType<typeof conditionsOf>[number]) => boolean;

const TYPES: readonly (readonly [Alert['type'], IsAlert])[] = [
  ['Degraded', ({ type, status }) => type === DEGRADED && status === 'True'],
  ['StoreOutOfStep', ({ type, status }) => type === 'Synced' && status === 'False'],
];
