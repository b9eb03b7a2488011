/** Records requests as the configuration says, and follows it: policy and file alike. */
import { resolve } from 'node:path';
import type { PlatformConfigSource } from '../config/config-feed.ts';
import type { AuditConfig, PlatformConfig } from '../config/platform-config.ts';
import { AuditFile, type AuditTarget } from './audit-file.ts';
import { AuditQueue } from './audit-queue.ts';
import { type AuditedAnswer, type AuditedCall, eventLine } from './event.ts';
import { type AuditLevel, type AuditPolicy, type AuditStage, auditPolicy } from './policy.ts';

export interface AuditObserver {
  recorded(level: AuditLevel): void;
  dropped(): void;
  /** The log takes nothing, or (undefined) takes lines again. */
  trouble(error: unknown): void;
  /** Something beside the writing failed: another log could not be opened, an old one not packed. */
  refused(error: unknown): void;
}

export interface AuditorOptions {
  readonly config: PlatformConfigSource;
  /** Relative paths of the configuration are in here. */
  readonly directory: string;
  readonly clock: { now(): number };
  readonly observer: AuditObserver;
  readonly output: { write(text: string, done: (error?: Error | null) => void): unknown };
}

/** The record of one request. */
export interface AuditTrail {
  readonly level: Exclude<AuditLevel, 'None'>;
  received(): void;
  /** Of an answer that goes on. */
  started(code: number): void;
  /** Once; later calls do nothing. */
  ended(answer: AuditedAnswer, stage?: 'ResponseComplete' | 'Panic'): void;
}

export class Auditor {
  readonly #options: AuditorOptions;
  readonly #queue: AuditQueue;
  readonly #stop: () => void;
  #policy: AuditPolicy | undefined;
  /** What the open log was opened with. */
  #opened = '';
  #opening: Promise<void> = Promise.resolve();

  constructor(options: AuditorOptions) {
    this.#options = options;
    const { observer, config } = options;
    this.#queue = new AuditQueue(observer);
    this.#follow(config.current);
    this.#stop = config.subscribe((now) => this.#follow(now));
  }

  /** False: nothing would be recorded, whatever is asked. */
  get isOn(): boolean {
    return this.#policy !== undefined;
  }

  /** Undefined: the policy records nothing of it. */
  begin(call: AuditedCall): AuditTrail | undefined {
    const decision = this.#policy?.(call);
    if (decision === undefined || decision.level === 'None') return undefined;
    const { level, omitStages } = decision;
    let isOver = false;
    const record = (stage: AuditStage, answer?: AuditedAnswer): void => {
      if (omitStages.has(stage)) return;
      const now = this.#options.clock.now();
      this.#options.observer.recorded(level);
      this.#queue.add(eventLine({ call, level, stage, now, answer }));
    };
    return {
      level,
      received: () => record('RequestReceived'),
      started: (code) => record('ResponseStarted', { code }),
      ended: (answer, stage = 'ResponseComplete') => {
        if (isOver) return;
        isOver = true;
        record(stage, answer);
      },
    };
  }

  /** Resolves when the log of the newest configuration is open, or could not be. */
  async opened(): Promise<void> {
    await this.#opening;
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#opening;
    await this.#queue.close();
  }

  #follow({ audit }: PlatformConfig): void {
    const isOn = audit?.enabled === true && audit.path !== undefined && audit.path !== '';
    this.#policy = isOn ? auditPolicy(audit) : undefined;
    // One after the other: the last configuration wins.
    this.#opening = this.#opening.then(() => this.#open(isOn ? audit : undefined));
  }

  /** A log that cannot be opened leaves the one before; where there is none, lines wait. */
  async #open(audit: AuditConfig | undefined): Promise<void> {
    const { path, maxSize, maxAge, maxBackups, compress } = audit ?? {};
    const wanted = JSON.stringify([path, maxSize, maxAge, maxBackups, compress]);
    if (wanted === this.#opened) return;
    const target = audit && this.#target(audit);
    try {
      await target?.open();
    } catch (error) {
      if (this.#queue.hasTarget) {
        this.#options.observer.refused(error);
        return;
      }
      // It is tried again whenever there is something to write.
      this.#queue.failed(error);
    }
    this.#opened = wanted;
    await this.#queue.turnTo(target)?.close();
  }

  #target({ path = '', ...audit }: AuditConfig): AuditTarget {
    const { directory, clock, observer, output } = this.#options;
    if (path === '-') return new OutputTarget(output);
    const file = {
      path: resolve(directory, path),
      isFolder: path.endsWith('/'),
      maxBytes: (audit.maxSize || DEFAULT_MEGABYTES) * 1024 * 1024,
      maxBackups: audit.maxBackups ?? 0,
      maxAgeMs: (audit.maxAge ?? 0) * DAY_MS,
      compress: audit.compress,
    };
    return new AuditFile(file, clock, observer.refused);
  }
}

const DEFAULT_MEGABYTES = 100;
const DAY_MS = 86_400_000;

/** Standard output, for `path: "-"`. */
class OutputTarget implements AuditTarget {
  readonly #output: AuditorOptions['output'];

  constructor(output: AuditorOptions['output']) {
    this.#output = output;
  }

  append(lines: Buffer): Promise<void> {
    return new Promise((done, fail) => {
      this.#output.write(lines.toString(), (error) => (error ? fail(error) : done()));
    });
  }

  async open(): Promise<void> {}

  async close(): Promise<void> {}
}
