/** Sign-in of the daemon: connectors, accounts, refreshes. */
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
  /** Base URL for clients when the configuration names no host. */
  readonly publicUrl: () => string;
  /** True for `--public-url`, which takes precedence over the configuration. */
  readonly isPublicUrlGiven: boolean;
  /** Absent: the built-in connectors. */
  readonly factories?: ConnectorFactories;
}

export interface SignInService {
  readonly signIn: SignIn;
  /** Call when clients can reach the platform. */
  start(): void;
  /** Wraps `authenticate`, so that identities of used keys are refreshed now and then. */
  trackUse(authenticate: Authenticate): Authenticate;
  readonly refresher: IdentityRefresher;
  /** Resolves when all sessions that user changes end have ended. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export function openSignIn(parts: SignInParts): SignInService {
  const { config, clock, logger } = parts;
  const baseUrl = ({ platformHost }: PlatformConfig): string =>
    platformHost && !parts.isPublicUrlGiven ? `https://${platformHost}` : parts.publicUrl();
  const warn = (connector: string, problem: string): void =>
    logger.warn({ connector, problem }, 'A connector has a problem');
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
