/**
 * HTTP to identity providers: no redirects, a deadline, a size limit, refused addresses, and the configured
 * trust.
 */
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { Agent, fetch as undiciFetch } from 'undici';
import { deadline, isRecord } from '../apimachinery/index.ts';
import {
  AddressRefusedError,
  AnswerBody,
  guardedLookup,
  hintLimit,
  isLoopback,
  refuseAddress,
  refuseLoopback,
  remoteLookup,
} from '../outbound/index.ts';
import { SignInError } from './sign-in-error.ts';

export interface ProviderTrust {
  /** PEM certificates beside the system roots. */
  readonly ca?: string;
  /** Skip certificate verification. */
  readonly isInsecure?: boolean;
  /**
   * URL that the operator configured. Other hosts come from its discovery document, and may be on the
   * loopback only if this one is. Absent: the operator configured every host.
   */
  readonly issuer?: string | undefined;
}

export interface ProviderHttp {
  /** Like `fetch`; throws SignInError 502 for an unreachable provider, 504 after the deadline. */
  readonly fetch: typeof globalThis.fetch;
  close(): Promise<void>;
}

const DEADLINE_MS = 10_000;
const MOST_BYTES = 1024 * 1024;
/** A page of a provider's list has some 6,000. */
const MOST_VALUES = 50_000;

/** PEM certificates of a file, read at every call. Throws SignInError. */
export function readCertificates(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new SignInError(`cannot read the certificates in ${path}`, {
      reason: 'ca-unreadable',
      code: 502,
      cause,
    });
  }
}

export function providerHttp(
  trust: ProviderTrust = {},
  limits: { deadlineMs?: number; mostBytes?: number } = {},
): ProviderHttp {
  const { deadlineMs = DEADLINE_MS, mostBytes = MOST_BYTES } = limits;
  const isGiven = givenHosts(trust.issuer);
  const agent = new Agent({
    maxResponseSize: mostBytes,
    connect: {
      timeout: deadlineMs,
      lookup: (host, options, callback) =>
        (isGiven(host) ? guardedLookup : remoteLookup)(host, options, callback),
      ...(trust.ca === undefined ? {} : { ca: [...rootCertificates, trust.ca] }),
      ...(trust.isInsecure === true ? { rejectUnauthorized: false } : {}),
    },
  });
  const limited = agent.compose(hintLimit);
  const fetch = async (
    input: string | URL | Request,
    init: RequestInit = {},
  ): Promise<Response> => {
    const signal = deadline(deadlineMs, ...(init.signal ? [init.signal] : []));
    try {
      const { hostname } = new URL(input instanceof Request ? input.url : input);
      refuseAddress(hostname);
      if (!isGiven(hostname)) refuseLoopback(hostname);
      const response = await undiciFetch(input as string, {
        ...(init as object),
        redirect: 'manual',
        dispatcher: limited,
        signal,
      });
      // The body is read here, so that limit and deadline also hold for it.
      const body = [101, 204, 205, 304].includes(response.status)
        ? null
        : await bodyOf(response.body, mostBytes);
      return new Response(body, {
        status: response.status,
        headers: [...response.headers],
      });
    } catch (cause) {
      throw unreachable(String(input instanceof Request ? input.url : input), signal, cause);
    }
  };
  return { fetch, close: () => agent.destroy() };
}

function givenHosts(issuer: string | undefined): (hostname: string) => boolean {
  if (issuer === undefined || !URL.canParse(issuer)) return () => true;
  const { hostname } = new URL(issuer);
  return isLoopback(hostname) ? () => true : (host) => host === hostname;
}

/** The limit of the connection counts compressed bytes; a body may be a thousand times larger. */
async function bodyOf(
  stream: AsyncIterable<Uint8Array> | null,
  mostBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const body = new AnswerBody(mostBytes, MOST_VALUES);
  for await (const chunk of stream ?? []) body.add(chunk);
  return body.bytes();
}

function unreachable(url: string, signal: AbortSignal, cause: unknown): SignInError {
  const { origin } = new URL(url);
  const inner = isRecord(cause) ? cause['cause'] : undefined;
  const refusal = [cause, inner].find((one) => one instanceof AddressRefusedError);
  if (refusal !== undefined) {
    return new SignInError(refusal.message, { reason: 'address-refused', code: 502, cause });
  }
  return signal.reason?.name === 'TimeoutError'
    ? new SignInError(`${origin} did not answer in time`, {
        reason: 'provider-slow',
        code: 504,
        cause,
      })
    : new SignInError(`${origin} cannot be asked`, {
        reason: 'provider-unreachable',
        code: 502,
        cause,
      });
}
