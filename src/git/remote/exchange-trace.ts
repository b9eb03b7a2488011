/**
 * Reads the trace of git for facts about an exchange with a remote: the progress of a push, and the
 * headers of the last HTTP answer. Bodies and credentials are not traced.
 */

/** File descriptor of the trace, so that it does not mix with stderr. */
const TRACE_FD = '3';

/** Environment that enables the trace: git(1), `GIT_TRACE2`, `GIT_TRACE_CURL`. */
export const TRACE_ENVIRONMENT: Readonly<Record<string, string>> = {
  GIT_TRACE2: TRACE_FD,
  GIT_TRACE_CURL: TRACE_FD,
  GIT_TRACE_CURL_NO_DATA: '1',
  GIT_TRACE_REDACT: '1',
};

const CHILD = / child_start\[\d+\] /;
/** git has the refs of the remote, and builds the pack to send. */
const SENDS = / child_start\[\d+\] git (?:send-pack|pack-objects) /;
/** curl resends a request by itself if a reused connection breaks. */
const RESENDS = /== Info: Connection died, retrying/;
const STATUS = /<= Recv header: HTTP\/[\d.]+ (\d{3})/;
const HEADER = /<= Recv header: (content-type|location): *([^\r]*)/i;
const MAX_LINE = 64 * 1024;

export class ExchangeTrace {
  #rest = '';
  #hasChild = false;
  #sends = false;
  #resends = false;
  #status = 0;
  #headers = new Map<string, string>();

  /** Takes the next chunk of the trace. */
  write(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = (lines.pop() ?? '').slice(-MAX_LINE);
    for (const line of lines) this.#read(line);
  }

  /** True if git ended before it sent a byte of a push; false where the trace does not show it. */
  get isUnsent(): boolean {
    return this.#hasChild && !this.#sends;
  }

  /** True if the answer may be that to the second copy of a request. */
  get isResent(): boolean {
    return this.#resends;
  }

  /** True if the last HTTP answer was a web page: 2xx with HTML. */
  get isWebPage(): boolean {
    const type = this.#headers.get('content-type') ?? '';
    return (
      this.#status >= 200 &&
      this.#status < 300 &&
      /^(?:text\/html|application\/xhtml\+xml)\b/i.test(type)
    );
  }

  /** Address that the last HTTP answer redirects to, without its query; undefined: it does not. */
  get redirect(): string | undefined {
    if (this.#status < 300 || this.#status >= 400) return undefined;
    return this.#headers.get('location')?.replace(/[?#].*/, '');
  }

  #read(line: string): void {
    this.#hasChild ||= CHILD.test(line);
    this.#sends ||= SENDS.test(line);
    this.#resends ||= RESENDS.test(line);
    const [, status] = STATUS.exec(line) ?? [];
    if (status !== undefined) {
      this.#status = Number(status);
      this.#headers.clear();
    }
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name !== undefined) this.#headers.set(name.toLowerCase(), value ?? '');
  }
}
