/**
 * Factories of connectors, one per block of the configuration. Each loads its module, with the library
 * that it needs, only if a configuration has the block.
 */
import type { AuthConfig } from '../../config/index.ts';
import type { AnyConnector, ConnectorContext } from '../connector.ts';

/** The blocks of `auth` that are connectors. */
export interface ConnectorBlocks
  extends Required<
    Pick<
      AuthConfig,
      'oidc' | 'providerA' | 'providerB' | 'providerC' | 'providerD' | 'providerE' | 'saml'
    >
  > {}

export type BlockName = keyof ConnectorBlocks;

/**
 * Rejects when the connector cannot be built, such as while discovery fails: it is retried in the
 * background until the configuration changes.
 */
export type ConnectorFactory<Block> = (
  id: string,
  block: Block,
  context: ConnectorContext,
) => Promise<AnyConnector>;

export type ConnectorFactories = {
  readonly [Name in BlockName]?: ConnectorFactory<ConnectorBlocks[Name]>;
};

export const FACTORIES: ConnectorFactories = {
  oidc: async (...of) => (await import('./oidc.ts')).oidcConnector(...of),
  providerA: async (...of) => (await import('./provider-a.ts')).createProviderA(...of),
  providerB: async (...of) => (await import('./provider-b.ts')).createProviderB(...of),
  providerC: async (...of) => (await import('./provider-c.ts')).createProviderC(...of),
  providerD: async (...of) => (await import('./provider-d.ts')).createProviderD(...of),
  providerE: async (...of) => (await import('./provider-e.ts')).createProviderE(...of),
  saml: async (...of) => (await import('../saml/saml-connector.ts')).samlConnector(...of),
};
