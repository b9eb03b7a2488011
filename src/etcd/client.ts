/** Client of etcd over gRPC. Loaded only when etcd is configured; see open-etcd.ts. */
import { type ChannelCredentials, credentials as security } from '@grpc/grpc-js';
import type {
  EtcdWatch,
  KeyValue,
  Lease,
  RangeRequest,
  RangeResponse,
  RemoteEtcd,
  TxnRequest,
  TxnResponse,
  WatchRequest,
} from './etcd.ts';
import { CompactedRevisionError } from './etcd-error.ts';
import type { EtcdOptions, EtcdTls } from './etcd-options.ts';
import { grantLease } from './lease.ts';
import { Members, type MemberTimeouts } from './members.ts';
import { rangeResponse, txnResponse, wireRange, wireTxn } from './translate.ts';
import { Watch } from './watch.ts';
import { COMPACT, RANGE, TXN, type WireRange } from './wire.ts';

const FIRST_PAGE = 64;

const MAX_PAGE = 10_000;

/** Target size of a page. */
const PAGE_BYTES = 4 * 1024 * 1024;

type Ask = (request: WireRange) => Promise<RangeResponse>;

const TIMEOUT_MS = 12_000;
const READ = { attempt: 4000, repeat: true };
/** etcd itself fails a write after 7 seconds, with a clear error. */
const WRITE = { attempt: 8000, repeat: false };
const COMPACTION = { attempt: 5000, repeat: true };

export class EtcdClient implements RemoteEtcd {
  readonly #members: Members;
  readonly #timeoutMs: number;
  readonly #watches = new Set<Watch>();

  constructor(options: EtcdOptions) {
    const { endpoints, tls, credentials, timeoutMs = TIMEOUT_MS, onReplaced } = options;
    this.#timeoutMs = timeoutMs;
    const channel = tls === undefined ? security.createInsecure() : secured(tls);
    this.#members = new Members({ endpoints, security: channel, credentials, onReplaced });
  }

  useTls(tls: EtcdTls): void {
    this.#members.secure(secured(tls));
  }

  get place(): string {
    return this.#members.place;
  }

  range(request: RangeRequest): Promise<RangeResponse> {
    return this.#range(wireRange(request));
  }

  scan(request: RangeRequest): AsyncIterable<KeyValue> & { readonly revision: Promise<bigint> } {
    return new Scan((page) => this.#range(page), wireRange(request));
  }

  async txn(request: TxnRequest): Promise<TxnResponse> {
    return txnResponse(await this.#members.call(TXN, wireTxn(request), this.#timeouts(WRITE)));
  }

  watch(request: WatchRequest): EtcdWatch {
    if (this.#members.closed) throw this.#members.closedError();
    const now = async (): Promise<bigint> => {
      const { key } = request;
      return (await this.range({ key: key === '' ? '\0' : key, keysOnly: true })).revision;
    };
    const watch = new Watch(this.#members, request, now);
    this.#watches.add(watch);
    watch.ended.addEventListener('abort', () => this.#watches.delete(watch));
    return watch;
  }

  grant(ttlSeconds: number): Promise<Lease> {
    return grantLease(this.#members, ttlSeconds);
  }

  async compact(revision: bigint): Promise<void> {
    try {
      await this.#members.call(COMPACT, { revision: String(revision) }, this.#timeouts(COMPACTION));
    } catch (error) {
      // Another process compacted it, or the first attempt of this call succeeded.
      if (!(error instanceof CompactedRevisionError)) throw error;
    }
  }

  async close(): Promise<void> {
    this.#members.close();
    for (const watch of this.#watches) watch.close();
  }

  #timeouts(timeouts: Omit<MemberTimeouts, 'total'>): MemberTimeouts {
    return { ...timeouts, total: this.#timeoutMs };
  }

  async #range(request: WireRange): Promise<RangeResponse> {
    try {
      const answer = await this.#members.call(RANGE, request, this.#timeouts(READ));
      return rangeResponse(answer, BigInt(answer.header?.revision ?? 0));
    } catch (error) {
      if (!(error instanceof CompactedRevisionError)) throw error;
      throw new CompactedRevisionError(BigInt(request.revision ?? 0), { cause: error });
    }
  }
}

function secured({ ca, cert, key }: EtcdTls): ChannelCredentials {
  return security.createSsl(ca ?? null, key ?? null, cert ?? null);
}

/** Reads all keys of a range at one revision in pages, with one page of read-ahead. */
class Scan implements AsyncIterable<KeyValue> {
  readonly revision: Promise<bigint>;
  readonly #ask: Ask;
  readonly #request: WireRange;
  readonly #first: Promise<RangeResponse>;

  constructor(ask: Ask, request: WireRange) {
    this.#ask = ask;
    this.#request = request;
    this.#first = ask({ ...request, limit: FIRST_PAGE });
    const asked = request.revision;
    this.revision = this.#first.then(({ revision }) =>
      asked === undefined ? revision : BigInt(asked),
    );
    // The iteration reports the error.
    this.revision.catch(() => undefined);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<KeyValue> {
    const revision = String(await this.revision);
    let page: Promise<RangeResponse> | undefined = this.#first;
    let limit = FIRST_PAGE;
    while (page !== undefined) {
      const { kvs, more }: RangeResponse = await page;
      limit = nextLimit(limit, kvs);
      const last = kvs.at(-1);
      page = undefined;
      if (more && last !== undefined) {
        const key = Buffer.from(`${last.key}\0`);
        page = this.#ask({ ...this.#request, key, limit, revision });
        page.catch(() => undefined);
      }
      yield* kvs;
    }
  }
}

function nextLimit(limit: number, kvs: readonly KeyValue[]): number {
  let bytes = 0;
  for (const { key, value } of kvs) bytes += key.length + value.length;
  const ideal = Math.floor((limit * PAGE_BYTES) / Math.max(bytes, 1));
  return Math.max(1, Math.min(ideal, limit * 8, MAX_PAGE));
}
