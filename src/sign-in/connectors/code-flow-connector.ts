/** OAuth providers that return the identity from an API, for an access token. */
import type { Connector, ProvidedIdentity } from '../connector.ts';
import type { CodeFlow } from './code-flow.ts';
import { withProviderTimeout } from './provider-timeout.ts';
import { assertSameSubject } from './same-subject.ts';
import { type Tokens, tokensOf, withGoodTokens } from './tokens.ts';

export interface CodeFlowConnectorOptions extends Pick<Connector, 'id' | 'type' | 'close'> {
  readonly flow: CodeFlow;
  readonly clock: { now(): number };
  /** Asks the API of the provider. */
  identityOf(tokens: Tokens, signal: AbortSignal): Promise<ProvidedIdentity>;
}

export function codeFlowConnector({
  flow,
  clock,
  identityOf,
  ...named
}: CodeFlowConnectorOptions): Connector {
  return {
    ...named,
    callbackMethod: 'GET',
    begin: async (transaction) => ({
      kind: 'redirect',
      url: await flow.authorizationUrl(transaction),
    }),
    async complete(transaction, callback, caller) {
      const signal = withProviderTimeout(caller);
      return await identityOf(await flow.exchange(transaction, callback, signal), signal);
    },
    async refresh(known, caller, keep) {
      const signal = withProviderTimeout(caller);
      return await withGoodTokens(
        tokensOf(known),
        { clock, keep, renew: (token) => flow.renew(token, signal) },
        async (tokens) => assertSameSubject(known, await identityOf(tokens, signal)),
      );
    },
  };
}
