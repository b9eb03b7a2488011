/** What goes to the thread that reads responses, and what comes back; both are cloned. */

import type { RefusalCode } from './refusal.ts';

/** What a response is measured by. */
export interface Expected {
  /** Of our AuthnRequest. */
  readonly requestId: string;
  /** Where responses arrive. */
  readonly redirectUri: string;
  readonly audience: string;
  /** Undefined: any, as long as response and assertion agree. */
  readonly issuer: string | undefined;
  /** Unix time in ms. */
  readonly now: number;
}

export interface ReadRequest {
  /** As `responseText` gives it. */
  readonly text: string;
  readonly expected: Expected;
  /** PEM, each one certificate. Of no meaning for `unsigned`, and otherwise never empty. */
  readonly certificates: readonly string[];
  /** The configuration says that signatures are not to be checked. */
  readonly trust: 'signed' | 'unsigned';
}

/** `start` is answered as soon as the libraries are loaded. */
export type ThreadRequest =
  | { readonly do: 'start' }
  | { readonly do: 'read'; readonly request: ReadRequest };

/** What an assertion says: signed words only, unless signatures are not checked. */
export interface AssertionFacts {
  readonly id: string;
  readonly issuer: string;
  readonly nameId: string;
  readonly nameIdFormat: string | undefined;
  /** `Name` and values, in order; a name may come twice. */
  readonly attributes: readonly (readonly [string, readonly string[]])[];
  /** Unix time in ms: nobody takes it later than this. */
  readonly until: number;
}

export type ReadResult =
  | { readonly facts: AssertionFacts }
  | { readonly refused: { reason: string; message: string; code: RefusalCode } };
