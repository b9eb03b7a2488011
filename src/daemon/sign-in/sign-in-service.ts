/** Signing in as the daemon runs it. */
import type { PlatformConfig } from '../../config/index.ts';
import type { Authenticate } from '../../server/index.ts';
import {
  type ConnectorFactories,
  ConnectorSet,
  IdentityRefresher,
  PasswordLogin,
  SignIn,
} from '../../sign-in/index.ts';
import type { AccountParts } from './account-parts.ts';
import { PlatformAccounts } from './accounts.ts';
import { endSessionsOfOldPasswords } from './password-changes.ts';

export interface SignInParts extends AccountParts {
  /** Base URL that clients use when the configuration names no host. */
  readonly publicUrl: () => string;
  /** Whether the operator said so: that counts more than what the configuration says. */
  readonly isPublicUrlGiven: boolean;
  /** Ours when absent. */
  readonly factories?: ConnectorFactories;
}

export interface SignInService {
  readonly signIn: SignIn;
  /** To be called when clients can reach the platform. */
  start(): void;
  /** The same answers, and whose key is used is asked about now and then. */
  trackUse(authenticate: Authenticate): Authenticate;
  readonly refresher: IdentityRefresher;
  /** Resolves when what changes of users began has ended. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export function openSignIn(parts: SignInParts): SignInService {
  const { config, clock, logger } = parts;
  const baseUrl = ({ platformHost }: PlatformConfig): string =>
    platformHost && !parts.isPublicUrlGiven ? `https://${platformHost}` : parts.publicUrl();
  const warn = (connector: string, problem: string): void =>
    logger.warn({ connector, problem }, 'A connector needs to be looked at');
  const connectors = new ConnectorSet({ ...parts, baseUrl, warn });
  const accounts = new PlatformAccounts(parts);
  const { directory } = parts.access;
  const signIn = new SignIn({
    config,
    passwords: new PasswordLogin({ config, directory, accounts, clock }),
    connectors,
    accounts,
    clock,
    baseUrl: () => baseUrl(config.current),
    warn,
  });
  const refresher = new IdentityRefresher({
    signIn,
    accounts,
    clock,
    tell: ({ outcome, ...event }) => {
      if (outcome === 'refreshed') logger.debug(event, 'An identity was refreshed');
      else logger.warn({ ...event, outcome }, 'An identity could not be refreshed');
    },
  });
  const passwords = endSessionsOfOldPasswords(parts, accounts);
  return {
    signIn,
    refresher,
    start: () => connectors.start(),
    settled: () => passwords.settled(),
    trackUse: (authenticate) => (token) => {
      const found = authenticate(token);
      if ('user' in found && found.user.accessKey !== undefined) {
        refresher.used(found.user.accessKey);
      }
      return found;
    },
    close: async () => {
      await passwords.close();
      await refresher.close();
      await connectors.close();
    },
  };
}
