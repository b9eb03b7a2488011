/**
 * Limits of an answer beside its deadline: the size of its body, the number of parts that the body comes in, and
 * the informational responses before it. Each part and each response costs time and memory beyond its bytes.
 */
import type { Dispatcher } from 'undici';

/** Servers send one `103 Early Hints`, or a `102 Processing` from time to time. */
const MOST_HINTS = 32;
/** Parts of a body that may be small. */
const SMALL_PARTS = 1024;
/** Bytes on average of each part beyond those. */
const PART_BYTES = 64;

const TOO_MANY_HINTS = 'the server sends informational responses without end';

/** Body of an answer as it arrives. */
export class AnswerBody {
  readonly #maxBytes: number;
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
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
