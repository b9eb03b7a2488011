/**
 * Limits of an answer beside its deadline: the size of its body, the number of parts that the body comes in, the
 * values in its JSON, and the informational responses before it. Each of them costs time and memory beyond its bytes.
 */
import type { Dispatcher } from 'undici';

/** Servers send one `103 Early Hints`, or a `102 Processing` from time to time. */
const MOST_HINTS = 32;
/** Parts of a body that may be small. */
const SMALL_PARTS = 1024;
/** Bytes on average of each part beyond those. */
const PART_BYTES = 64;

const [QUOTE, BACKSLASH, COMMA, LIST, MAP] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

const TOO_MANY_HINTS = 'the server sends informational responses without end';

/** Body of an answer as it arrives. */
export class AnswerBody {
  readonly #maxBytes: number;
  readonly #maxValues: number;
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;
  #values = 0;
  #isInText = false;
  #isEscaped = false;

  constructor(maxBytes: number, maxValues = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes;
    this.#maxValues = maxValues;
  }

  /** Bound of the values in the JSON of the body; 0 without a limit of them. */
  get values(): number {
    return this.#values;
  }

  /** Throws if the body exceeds a limit. */
  add(part: Uint8Array): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) {
      throw new Error(`the answer exceeds ${this.#maxBytes} bytes`);
    }
    this.#parts.push(part);
    if (this.#parts.length > SMALL_PARTS + this.#bytes / PART_BYTES) {
      throw new Error('the answer comes in too many small parts');
    }
    if (Number.isFinite(this.#maxValues)) this.#count(part);
    if (this.#values > this.#maxValues) {
      throw new Error(`the answer has more than ${this.#maxValues} values`);
    }
  }

  /** Counts the marks outside of texts: parsing takes time and memory per value. */
  #count(part: Uint8Array): void {
    for (const byte of part) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === QUOTE) this.#isInText = !this.#isInText;
      else if (!this.#isInText) {
        if (byte === COMMA || byte === LIST || byte === MAP) this.#values += 1;
      } else if (byte === BACKSLASH) this.#isEscaped = true;
    }
  }

  bytes(): Buffer<ArrayBuffer> {
    return Buffer.concat(this.#parts);
  }

  text(): string {
    return this.bytes().toString('utf8');
  }
}

/** Destroys a request of `node:http` with an error once too many informational responses have come. */
export function limitHints(request: {
  on(event: 'information', listener: () => void): unknown;
  destroy(error: Error): unknown;
}): void {
  let hints = 0;
  request.on('information', () => {
    hints += 1;
    if (hints > MOST_HINTS) request.destroy(hintsError());
  });
}

/** The same as an interceptor of undici. */
export const hintLimit: Dispatcher.DispatcherComposeInterceptor =
  (dispatch) => (options, handler) => {
    let hints = 0;
    return dispatch(options, {
      onRequestStart: (...of) => handler.onRequestStart?.(...of),
      onRequestUpgrade: (...of) => handler.onRequestUpgrade?.(...of),
      onResponseStart: (controller, status, ...of) => {
        if (status < 200) hints += 1;
        if (hints > MOST_HINTS) controller.abort(hintsError());
        else handler.onResponseStart?.(controller, status, ...of);
      },
      onResponseData: (...of) => handler.onResponseData?.(...of),
      onResponseEnd: (...of) => handler.onResponseEnd?.(...of),
      onResponseError: (...of) => handler.onResponseError?.(...of),
    });
  };

function hintsError(): Error {
  return Object.assign(new Error(TOO_MANY_HINTS), { code: TOO_MANY_HINTS });
}
