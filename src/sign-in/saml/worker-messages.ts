/** Messages to and from the worker thread that reads responses; both are cloned. */

import type { RefusalCode } from './refusal.ts';

/** Expected values of a response. */
export interface Expected {
  /** Id of our AuthnRequest. */
  readonly requestId: string;
  /** URL for responses. */
  readonly redirectUri: string;
  readonly audience: string;
  /** Undefined: any, as long as response and assertion agree. */
  readonly issuer: string | undefined;
  /** Unix time in ms. */
  readonly now: number;
}

export interface ReadRequest {
  /** Result of `responseText`. */
  readonly text: string;
  readonly expected: Expected;
  /** One PEM certificate each. Unused for `unsigned`, and otherwise never empty. */
  readonly certificates: readonly string[];
  /** `unsigned`: the configuration turns signature checks off. */
  readonly trust: 'signed' | 'unsigned';
}

/** `start` is answered as soon as the libraries are loaded. */
export type ThreadRequest =
  | { readonly do: 'start' }
  | { readonly do: 'read'; readonly request: ReadRequest };

/** Facts of an assertion; only from signed bytes, unless signatures are not checked. */
export interface AssertionFacts {
  readonly id: string;
  readonly issuer: string;
  readonly nameId: string;
  readonly nameIdFormat: string | undefined;
  /** `Name` and values, in order; a name may occur twice. */
  readonly attributes: readonly (readonly [string, readonly string[]])[];
  /** Expiry as Unix time in ms. */
  readonly until: number;
}

export type ReadResult =
  | { readonly facts: AssertionFacts }
  | { readonly refused: { reason: string; message: string; code: RefusalCode } };
