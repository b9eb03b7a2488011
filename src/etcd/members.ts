/** All members: which one is asked, when another one is, with which token. */
import { type ChannelCredentials, Metadata } from '@grpc/grpc-js';
import { backoffAfter, pause } from '../concurrency/index.ts';
import { CompactedRevisionError, EtcdError } from './etcd-error.ts';
import type { EtcdCredentials, EtcdOptions } from './etcd-options.ts';
import { type CallFailure, isFailure, Member, withLeader } from './member.ts';
import { type Fate, fateOf, isCompacted, isFull, remedyFor } from './refusal.ts';
import { type Answer, AUTHENTICATE, type Method } from './wire.ts';

export interface MemberTimeouts {
  /** Milliseconds until it is given up altogether. */
  readonly total: number;
  /** Milliseconds that one member has. */
  readonly attempt: number;
  /** Whether what may have happened is asked for again. */
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
  #current = 0;
  #token: Promise<string> | undefined;
  #cluster: string | undefined;
  /** The newest revision that was told. */
  #newest = 0n;
  #replaced: string | undefined;

  constructor(
    of: { security: ChannelCredentials } & Pick<
      EtcdOptions,
      'endpoints' | 'credentials' | 'onReplaced'
    >,
  ) {
    const { endpoints, security, credentials, onReplaced } = of;
    if (endpoints.length === 0) throw new EtcdError('No member of etcd is named');
    this.place = `etcd://${endpoints.join()}`;
    this.#members = endpoints.map((endpoint) => new Member(endpoint, security));
    this.#credentials = credentials;
    this.#onReplaced = onReplaced;
  }

  get current(): Member {
    return this.#members[this.#current] as Member;
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** The next one is asked from now on, unless somebody changed it already. */
  leave(member: Member): void {
    if (this.current === member) this.#current = (this.#current + 1) % this.#members.length;
  }

  secure(security: ChannelCredentials): void {
    for (const member of this.#members) member.secure(security);
  }

  close(): void {
    this.#closing.abort();
    for (const member of this.#members) member.close();
  }

  /** Metadata for a call; with the token, where there is one. */
  async metadata(): Promise<Metadata> {
    const metadata = withLeader();
    if (this.#credentials !== undefined) metadata.set('token', await this.#signedIn());
    return metadata;
  }

  /** For one call, whatever the number of its attempts. */
  renewal(): Renewal {
    return new Renewal(this, this.#credentials !== undefined);
  }

  /** To be called when the token was refused. */
  forgetToken(): void {
    this.#token = undefined;
  }

  /** Throws EtcdError. */
  async call<Request, Reply extends Answer>(
    method: Method<Request, Reply>,
    request: Request,
    patience: MemberTimeouts,
  ): Promise<Reply> {
    const until = performance.now() + patience.total;
    const renewal = this.renewal();
    for (let attempt = 1; ; attempt++) {
      const member = this.current;
      const left = until - performance.now();
      const newest = this.#newest;
      try {
        const options = {
          metadata: await this.metadata(),
          within: Math.min(patience.attempt, Math.max(left, 1)),
        };
        const answer = await member.call(method, request, options);
        this.checkCluster(answer);
        this.#checkTime(answer, newest);
        return answer;
      } catch (error) {
        if (!isFailure(error)) throw error;
        const fate = renewal.fate(error);
        if (fate === 'sign-in') continue;
        if (fate === 'refused' || this.closed) throw this.refusal(error, fate);
        this.leave(member);
        const again = fate === 'elsewhere' || patience.repeat;
        if (!again || performance.now() >= until) throw this.refusal(error, fate);
      }
      await this.pause(attempt);
    }
  }

  /** None before every member was asked, then longer and longer. */
  async pause(attempt: number): Promise<void> {
    const rounds = Math.floor(attempt / this.#members.length);
    if (rounds > 0) await pause(backoffAfter(rounds, BACKOFF), this.#closing.signal);
  }

  /** Throws for an answer of another cluster: its revisions mean something else. */
  checkCluster({ header }: Answer): void {
    const cluster = header?.cluster_id;
    if (this.#replaced !== undefined) throw new EtcdError(this.#replaced);
    this.#cluster ??= cluster;
    if (cluster === this.#cluster) return;
    this.#refuse(`is another cluster than before (${cluster}, not ${this.#cluster})`);
  }

  /** What is answered by most members is never older than what was known when it was asked. */
  #checkTime({ header }: Answer, newest: bigint): void {
    const revision = BigInt(header?.revision ?? 0);
    if (revision > this.#newest) this.#newest = revision;
    if (revision !== 0n && revision < newest) {
      this.#refuse(`is at revision ${revision}, and was at ${newest} before`);
    }
  }

  #refuse(what: string): never {
    this.#replaced = `${this.place} ${what}; if it was restored from a backup, restart whatever uses it`;
    this.#onReplaced?.(this.#replaced);
    throw new EtcdError(this.#replaced);
  }

  /** For what was refused or given up. */
  refusal(error: CallFailure & Error, fate: Fate): EtcdError {
    const { details } = error;
    if (this.closed) return closedError(this.place);
    if (isCompacted(error)) return new CompactedRevisionError(0n);
    if (fate === 'refused' || fate === 'sign-in') {
      const code = isFull(error) ? 'EFULL' : 'EREFUSED';
      const message = `${this.place} refuses: ${details}${remedyFor(error)}`;
      return new EtcdError(message, { cause: error, code });
    }
    const unknown = fate === 'unknown';
    const message = unknown
      ? `${this.place} did not say whether it was done: ${details}`
      : `${this.place} cannot be reached: ${details}`;
    return new EtcdError(message, { cause: error, unknown, code: 'EUNREACH' });
  }

  #signedIn(): Promise<string> {
    if (this.#token === undefined) {
      const token = this.#signIn();
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
      const why = error instanceof Error ? error.message : String(error);
      throw new EtcdError(`The password for ${this.place} cannot be read: ${why}`, {
        cause: error,
      });
    }
  }

  async #signIn(): Promise<string> {
    const { username: name, password } = this.#credentials as EtcdCredentials;
    const request = { name, password: await this.#read(password) };
    const metadata = new Metadata();
    const within = SIGN_IN_MS;
    return (await this.current.call(AUTHENTICATE, request, { metadata, within })).token;
  }
}

/** A token is renewed once a call: one that is refused when it is new will be refused again. */
export class Renewal {
  readonly #members: Members;
  #left: number;

  constructor(members: Members, isSignedIn: boolean) {
    this.#members = members;
    this.#left = isSignedIn ? 2 : 0;
  }

  fate(error: CallFailure): Fate {
    const fate = fateOf(error);
    if (fate !== 'sign-in') return fate;
    if (this.#left-- <= 0) return 'refused';
    this.#members.forgetToken();
    return 'sign-in';
  }
}

export function closedError(place: string): EtcdError {
  return new EtcdError(`The connection to ${place} is closed`);
}
