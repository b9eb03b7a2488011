/** One person's way through a connector, without a browser. */
import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/apimachinery/object.ts';
import type {
  Connector,
  LoginTransaction,
  ProvidedIdentity,
} from '../../../src/sign-in/connector.ts';
import { SignInError } from '../../../src/sign-in/sign-in-error.ts';

export function newTransaction(): LoginTransaction {
  return {
    state: randomBytes(32).toString('base64url'),
    requestId: '_x',
    nonce: randomBytes(16).toString('base64url'),
    codeVerifier: randomBytes(32).toString('base64url'),
    redirectUri: 'https://platform.example.com/auth/x/callback',
    startedAt: Date.now(),
  };
}

const never = new AbortController().signal;

/** Where the browser is sent. */
export async function sentTo(connector: Connector, transaction = newTransaction()): Promise<URL> {
  const off = await connector.begin(transaction, never);
  return new URL(off.url);
}

/** `agree`: what the provider does with the browser. */
export async function signIn(
  connector: Connector,
  agree: (at: URL) => URL,
): Promise<ProvidedIdentity> {
  const transaction = newTransaction();
  const url = agree(await sentTo(connector, transaction));
  return comeBack(connector, transaction, url);
}

export function comeBack(
  connector: Connector,
  transaction: LoginTransaction,
  url: URL,
): Promise<ProvidedIdentity> {
  return connector.complete(transaction, { url, form: new URLSearchParams() }, never);
}

export interface Refreshed {
  readonly identity: ProvidedIdentity;
  /** What was kept while the refresh went on. */
  readonly kept: JsonObject[];
}

export async function refreshed(
  connector: Pick<Connector, 'refresh'>,
  known: ProvidedIdentity,
  kept: JsonObject[] = [],
): Promise<Refreshed> {
  const identity = await connector.refresh?.(known, never, async (data) => void kept.push(data));
  if (identity === undefined) throw new Error('the connector refreshes nothing');
  return { identity, kept };
}

/** The refusal, which has none of the secrets in it. */
export async function refusal(attempt: Promise<unknown>): Promise<SignInError> {
  const error = await attempt.then(
    (value) => new Error(`let in: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SignInError);
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    expect(cause.message + JSON.stringify(cause) + cause.stack).not.toContain('s3cret');
  }
  return error as SignInError;
}
