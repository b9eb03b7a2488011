/**
 * The audit log: selects requests by the configured policy, and writes their events to the
 * configured logs.
 */
import { resolve } from 'node:path';
import type { AuditConfig, PlatformConfig, PlatformConfigSource } from '../config/index.ts';
import { AuditFile } from './audit-file.ts';
import { AuditOutput, type Output } from './audit-output.ts';
import type { AuditTarget } from './audit-queue.ts';
import { AuditSink, type SinkCounts, type SinkName, type SinkObserver } from './audit-sink.ts';
import { type AuditedAnswer, type AuditedCall, eventParts, type Happening } from './event.ts';
import { EventBuffer } from './event-buffer.ts';
import {
  type AuditedRequest,
  type AuditLevel,
  type AuditPolicy,
  type AuditStage,
  auditPolicy,
  type Decision,
} from './policy.ts';
import { DataStore, type EventQuery } from './store/data-store.ts';

export interface AuditorOptions {
  readonly config: PlatformConfigSource;
  /** Base directory of relative paths in the configuration. */
  readonly directory: string;
  readonly clock: { now(): number };
  readonly observer: SinkObserver;
  readonly output: Output;
}

/** The record of one request. */
export interface AuditTrail {
  readonly level: Exclude<AuditLevel, 'None'>;
  received(): void;
  /** The response of a long-running request has begun. */
  started(code: number): void;
  /** The request is over. Only the first call counts. */
  ended(answer: AuditedAnswer, stage?: 'ResponseComplete' | 'Panic'): void;
}

/** Counters for the metrics. */
export interface AuditCounts {
  readonly events: ReadonlyMap<string, number>;
  readonly sinks: Readonly<Record<SinkName, SinkCounts>>;
}

const DEFAULT_MEGABYTES = 100;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Time in which events are collected for one write. */
const GATHER_MS = 20;
/**
 * Events made in one batch. Made back to back, an event takes a third of the time that it takes
 * between requests.
 */
const MADE_AT_ONCE = 64;

export class Auditor {
  readonly #options: AuditorOptions;
  readonly #file: AuditSink;
  readonly #store: AuditSink;
  readonly #buffer: EventBuffer;
  readonly #events = new Map<string, number>();
  #happened: Happening[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #stop: () => void;
  #policy: AuditPolicy | undefined;

  constructor(options: AuditorOptions) {
    this.#options = options;
    const { observer, config } = options;
    this.#file = new AuditSink({ name: 'file', observer, keepsFormer: true });
    this.#store = new AuditSink({ name: 'store', observer, keepsFormer: false });
    this.#buffer = new EventBuffer((block) => {
      this.#file.add(block);
      this.#store.add(block);
    });
    this.#follow(config.current);
    this.#stop = config.subscribe((now) => this.#follow(now));
  }

  /** False if no request is recorded. */
  get isOn(): boolean {
    return this.#policy !== undefined;
  }

  get counts(): AuditCounts {
    const sinks = { file: this.#file.counts, store: this.#store.counts };
    return { events: this.#events, sinks };
  }

  /** Undefined if the policy does not record the request. */
  begin(call: AuditedCall): AuditTrail | undefined {
    const decision = this.#policy?.(asked(call));
    if (decision === undefined) return undefined;
    const { level, omitStages } = decision;
    return level === 'None' ? undefined : new Trail(call, { level, omitStages }, this.#enqueue);
  }

  /**
   * Adds events of other programs, as JSON texts on one line each, without their last brace.
   * Returns false, and takes none of them, if the queue is half full: the rest is for events of
   * this daemon.
   */
  relay(events: readonly string[]): boolean {
    this.#flush();
    const bytes = events.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    if (![this.#file, this.#store].every((sink) => sink.hasRoomFor(bytes))) return false;
    for (const text of events) {
      this.#count('relayed');
      this.#buffer.add(text);
    }
    this.#gather();
    return true;
  }

  /** Events of the data store, newest first, as JSON texts. Undefined: there is no data store. */
  async find(query: EventQuery): Promise<readonly string[] | undefined> {
    await this.#store.opened();
    const { target } = this.#store;
    if (!(target instanceof DataStore)) return undefined;
    this.#flush();
    return await target.find(query);
  }

  /** Resolves when the file of the newest configuration is open, or could not be. */
  async opened(): Promise<void> {
    await this.#file.opened();
  }

  /** Reopens the log file, for programs that move it and send a signal. */
  reopen(): void {
    this.#file.reopen();
  }

  async close(): Promise<void> {
    this.#stop();
    this.#flush();
    await Promise.all([this.#file.close(), this.#store.close()]);
  }

  readonly #enqueue: Recorder = (call, level, stage, answer) => {
    this.#happened.push({ call, level, stage, now: this.#options.clock.now(), answer });
    if (this.#happened.length >= MADE_AT_ONCE) this.#make();
    this.#gather();
  };

  #make(): void {
    const happened = this.#happened;
    if (happened.length === 0) return;
    this.#happened = [];
    for (const one of happened) {
      this.#count(one.level);
      try {
        const { text, bytes } = eventParts(one);
        this.#buffer.add(text, bytes);
      } catch (error) {
        // No request is left that could report this failure: the daemon logs it and goes on.
        this.#options.observer.refused(new Error('An event could not be made', { cause: error }));
      }
    }
  }

  #gather(): void {
    this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#make();
    this.#buffer.flush();
  }

  #count(level: string): void {
    this.#events.set(level, (this.#events.get(level) ?? 0) + 1);
  }

  #follow({ audit }: PlatformConfig): void {
    const isOn = audit?.enabled === true && audit.path !== undefined && audit.path !== '';
    // Events recorded before the change go to the previous log.
    this.#flush();
    this.#policy = isOn ? auditPolicy(audit) : undefined;
    const { path, maxSize, maxAge, maxBackups, compress } = audit ?? {};
    this.#file.follow(
      isOn ? JSON.stringify([path, maxSize, maxAge, maxBackups, compress]) : '',
      isOn ? () => this.#fileTarget(audit) : undefined,
    );
    const { dataStoreEndpoint: endpoint = '', dataStoreTTL: hours = 0 } = audit ?? {};
    const isStored = isOn && endpoint !== '';
    this.#store.follow(
      isStored ? JSON.stringify([endpoint, hours]) : '',
      isStored ? () => this.#storeTarget(endpoint, hours) : undefined,
    );
  }

  #fileTarget({ path = '', ...audit }: AuditConfig): AuditTarget {
    const { directory, clock, observer, output } = this.#options;
    if (path === '-') return new AuditOutput(output);
    const file = {
      path: resolve(directory, path),
      isFolder: path.endsWith('/'),
      maxBytes: (audit.maxSize || DEFAULT_MEGABYTES) * 1024 * 1024,
      maxBackups: audit.maxBackups ?? 0,
      maxAgeMs: (audit.maxAge ?? 0) * DAY_MS,
      compress: audit.compress,
    };
    return new AuditFile(file, clock, (error) => observer.refused(error));
  }

  #storeTarget(endpoint: string, hours: number): AuditTarget {
    const { directory, observer } = this.#options;
    const refused = (error: unknown): void => observer.refused(error);
    return new DataStore({ endpoint, directory, keptMs: hours * HOUR_MS, refused });
  }
}

function asked({ user, route }: AuditedCall): AuditedRequest {
  const { verb, resource, path, target, cluster } = route;
  return { user: user.name, groups: user.groups, verb, resource, path, target, cluster };
}

type Recorder = (
  call: AuditedCall,
  level: AuditLevel,
  stage: AuditStage,
  answer: AuditedAnswer | undefined,
) => void;

class Trail implements AuditTrail {
  readonly level: AuditTrail['level'];
  readonly #call: AuditedCall;
  readonly #omitted: Decision['omitStages'];
  readonly #record: Recorder;
  #isOver = false;

  constructor(
    call: AuditedCall,
    { level, omitStages }: Decision & Pick<AuditTrail, 'level'>,
    record: Recorder,
  ) {
    this.level = level;
    this.#call = call;
    this.#omitted = omitStages;
    this.#record = record;
  }

  received(): void {
    this.#enqueue('RequestReceived');
  }

  started(code: number): void {
    this.#enqueue('ResponseStarted', { code });
  }

  ended(answer: AuditedAnswer, stage: AuditStage = 'ResponseComplete'): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#enqueue(stage, answer);
  }

  #enqueue(stage: AuditStage, answer?: AuditedAnswer): void {
    if (this.#omitted.has(stage)) return;
    this.#record(this.#call, this.level, stage, answer);
  }
}
