/** All members: selects the member for each call, handles failover, and authenticates. */

import type { ServiceError } from '@grpc/grpc-js';
import { type ChannelCredentials, Metadata, status } from '@grpc/grpc-js';
import { backoffAfter, pause } from '../concurrency/index.ts';
import { CompactedRevisionError, EtcdError } from './etcd-error.ts';
import type { EtcdCredentials, EtcdOptions } from './etcd-options.ts';
import { type CallFailure, isFailure, Member, withLeader } from './member.ts';
import { AUTHENTICATE, type Method, type WireResponse } from './wire.ts';

/**
 * `refused`: the call had no effect and a retry would not either. `elsewhere`: it had no effect, and may
 * succeed at another member or later. `sign-in`: it had no effect, since the token has expired.
 * `unknown`: it may have taken effect.
 */
type FailureKind = 'refused' | 'elsewhere' | 'sign-in' | 'unknown';

const SIGN_IN = [
  'etcdserver: invalid auth token',
  'etcdserver: revision of auth store is old',
  'etcdserver: user name is empty',
];

/** Errors before the call had any effect, from etcd or from the library that did not send it. */
const NOT_DONE = [
  'etcdserver: no leader',
  'etcdserver: too many requests',
  'etcdserver: not capable',
  'etcdserver: rpc not supported for learner',
  'No connection established',
  'Name resolution failed',
  'Channel closed before call started',
];

const REFUSALS: readonly status[] = [
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.PERMISSION_DENIED,
  status.RESOURCE_EXHAUSTED,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.UNIMPLEMENTED,
];

export interface MemberTimeouts {
  /** Time limit of the call in milliseconds. */
  readonly total: number;
  /** Time limit per member in milliseconds. */
  readonly attempt: number;
  /** True if the call is retried even when its outcome is unknown. */
  readonly repeat: boolean;
}

const BACKOFF = { firstMs: 50, lastMs: 1000 };
const SIGN_IN_MS = 5000;

export class Members {
  readonly place: string;
  readonly #members: readonly Member[];
  readonly #credentials: EtcdCredentials | undefined;
  readonly #closing = new AbortController();
  readonly #onReplaced: EtcdOptions['onReplaced'];
  #current: Member;
  #token: Promise<string> | undefined;
  #cluster: string | undefined;
  /** Newest revision in any response. */
  #newest = 0n;
  #replaced: string | undefined;

  constructor(
    options: { security: ChannelCredentials } & Pick<
      EtcdOptions,
      'endpoints' | 'credentials' | 'onReplaced'
    >,
  ) {
    const { endpoints, security, credentials, onReplaced } = options;
    this.place = `etcd://${endpoints.join()}`;
    this.#members = endpoints.map((endpoint) => new Member(endpoint, security));
    const [first] = this.#members;
    if (first === undefined) throw new EtcdError('The list of etcd endpoints is empty');
    this.#current = first;
    this.#credentials = credentials;
    this.#onReplaced = onReplaced;
  }

  get current(): Member {
    return this.#current;
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Selects the next member, unless another call has done so already. */
  leave(member: Member): void {
    if (this.#current !== member) return;
    const next = (this.#members.indexOf(member) + 1) % this.#members.length;
    this.#current = this.#members[next] ?? member;
  }

  secure(security: ChannelCredentials): void {
    for (const member of this.#members) member.secure(security);
  }

  close(): void {
    this.#closing.abort();
    for (const member of this.#members) member.close();
  }

  /** Metadata for a call, with the token if there is one. */
  async metadata(): Promise<Metadata> {
    const metadata = withLeader();
    const credentials = this.#credentials;
    if (credentials !== undefined) metadata.set('token', await this.#signedIn(credentials));
    return metadata;
  }

  /** Token renewals of one call, over all its attempts. */
  tokenRetry(): TokenRetry {
    return new TokenRetry(this, this.#credentials !== undefined);
  }

  /** Call after the token was refused. */
  forgetToken(): void {
    this.#token = undefined;
  }

  /** Throws EtcdError. */
  async call<Request, Reply extends WireResponse>(
    method: Method<Request, Reply>,
    request: Request,
    timeouts: MemberTimeouts,
  ): Promise<Reply> {
    const until = performance.now() + timeouts.total;
    const tokenRetry = this.tokenRetry();
    for (let attempt = 1; ; attempt++) {
      const member = this.current;
      const left = until - performance.now();
      const newest = this.#newest;
      try {
        const options = {
          metadata: await this.metadata(),
          timeoutMs: Math.min(timeouts.attempt, Math.max(left, 1)),
        };
        const answer = await member.call(method, request, options);
        this.checkCluster(answer);
        this.#checkTime(answer, newest);
        return answer;
      } catch (error) {
        if (!isFailure(error)) throw error;
        const kind = tokenRetry.classify(error);
        if (kind === 'sign-in') continue;
        if (kind === 'refused' || this.closed) throw this.errorOf(error, kind);
        this.leave(member);
        const again = kind === 'elsewhere' || timeouts.repeat;
        if (!again || performance.now() >= until) throw this.errorOf(error, kind);
      }
      await this.pause(attempt);
    }
  }

  /** Backoff between attempts: none until every member was tried, then doubling. */
  async pause(attempt: number): Promise<void> {
    const rounds = Math.floor(attempt / this.#members.length);
    if (rounds > 0) await pause(backoffAfter(rounds, BACKOFF), this.#closing.signal);
  }

  /** Throws for a response of another cluster, whose revisions have another meaning. */
  checkCluster({ header }: WireResponse): void {
    const cluster = header?.cluster_id;
    if (this.#replaced !== undefined) throw new EtcdError(this.#replaced);
    this.#cluster ??= cluster;
    if (cluster === this.#cluster) return;
    this.#markReplaced(`is another cluster than before (${cluster}, not ${this.#cluster})`);
  }

  /** A linearizable response is never older than the newest revision at the time of the request. */
  #checkTime({ header }: WireResponse, newest: bigint): void {
    const revision = BigInt(header?.revision ?? 0);
    if (revision > this.#newest) this.#newest = revision;
    if (revision !== 0n && revision < newest) {
      this.#markReplaced(`is at revision ${revision}, and was at ${newest} before`);
    }
  }

  #markReplaced(problem: string): never {
    this.#replaced = `${this.place} ${problem}; if it was restored from a backup, restart everything that uses it`;
    this.#onReplaced?.(this.#replaced);
    throw new EtcdError(this.#replaced);
  }

  /** Error of a failed call. */
  errorOf(error: CallFailure & Error, kind: FailureKind): EtcdError {
    const { details } = error;
    if (this.closed) return this.closedError();
    if (error.details.includes('required revision has been compacted')) {
      return new CompactedRevisionError(0n);
    }
    if (kind === 'refused' || kind === 'sign-in') {
      const code = isFull(error) ? 'EFULL' : 'EREFUSED';
      const message = `${this.place} refuses: ${details}${remedyFor(error)}`;
      return new EtcdError(message, { cause: error, code });
    }
    const unknown = kind === 'unknown';
    const message = unknown
      ? `${this.place} did not confirm if it was done: ${details}`
      : `${this.place} cannot be reached: ${details}`;
    return new EtcdError(message, { cause: error, unknown, code: 'EUNREACH' });
  }

  closedError(): EtcdError {
    return new EtcdError(`The connection to ${this.place} is closed`);
  }

  #signedIn(credentials: EtcdCredentials): Promise<string> {
    if (this.#token === undefined) {
      const token = this.#signIn(credentials);
      this.#token = token;
      token.catch(() => {
        if (this.#token === token) this.#token = undefined;
      });
    }
    return this.#token;
  }

  async #read(password: EtcdCredentials['password']): Promise<string> {
    try {
      return await password();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new EtcdError(`The password for ${this.place} cannot be read: ${reason}`, {
        cause: error,
      });
    }
  }

  async #signIn(credentials: EtcdCredentials): Promise<string> {
    const { username: name, password } = credentials;
    const request = { name, password: await this.#read(password) };
    const metadata = new Metadata();
    const timeoutMs = SIGN_IN_MS;
    return (await this.current.call(AUTHENTICATE, request, { metadata, timeoutMs })).token;
  }
}

function isFull(error: Pick<ServiceError, 'details'>): boolean {
  return error.details.includes('database space exceeded');
}

/** Advice for the operator, or an empty text. */
function remedyFor({ code, details }: Pick<ServiceError, 'code' | 'details'>): string {
  if (isFull({ details })) {
    return '; make room in etcd (etcdctl compact, etcdctl defrag) or raise its --quota-backend-bytes, then run etcdctl alarm disarm';
  }
  if (code === status.PERMISSION_DENIED || details.includes('permission denied')) {
    return '; grant its user a role that may read and write everything below the prefix';
  }
  if (details.includes('authentication is not enabled'))
    return '; configure no user name, or enable authentication';
  if (details.includes('authentication failed')) return '; check the user name and the password';
  return '';
}

/** Limits token renewals of one call: a new token that is refused would be refused again. */
export class TokenRetry {
  readonly #members: Members;
  #left: number;

  constructor(members: Members, isSignedIn: boolean) {
    this.#members = members;
    this.#left = isSignedIn ? 2 : 0;
  }

  classify(error: CallFailure): FailureKind {
    const kind = classifyFailure(error);
    if (kind !== 'sign-in') return kind;
    if (this.#left-- <= 0) return 'refused';
    this.#members.forgetToken();
    return 'sign-in';
  }
}

function classifyFailure(error: Pick<ServiceError, 'code' | 'details'>): FailureKind {
  const { code, details } = error;
  if (code === status.UNAUTHENTICATED || SIGN_IN.includes(details)) return 'sign-in';
  if (NOT_DONE.some((text) => details.startsWith(text))) return 'elsewhere';
  return REFUSALS.includes(code) ? 'refused' : 'unknown';
}
