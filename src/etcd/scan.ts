/** Reads all keys of a range at one revision in pages, with one page of read-ahead. */
import type { KeyValue, RangeResponse } from './etcd.ts';
import type { WireRange } from './wire.ts';

const FIRST_PAGE = 64;
const MAX_PAGE = 10_000;
/** Target size of a page. */
const PAGE_BYTES = 4 * 1024 * 1024;

type Ask = (request: WireRange) => Promise<RangeResponse>;

export class Scan implements AsyncIterable<KeyValue> {
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
