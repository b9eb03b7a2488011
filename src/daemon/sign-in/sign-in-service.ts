/** Signing in as the daemon runs it. */
import type { PlatformConfig } from '../../config/platform-config.ts';
import { ConnectorSet } from '../../signin/connectors/connector-set.ts';
import { PasswordLogin } from '../../signin/password-login.ts';
import { SignIn } from '../../signin/sign-in.ts';
import { type AccountParts, PlatformAccounts } from './accounts.ts';

export interface SignInParts extends AccountParts {
  /** Base URL that clients use when the configuration names no host. */
  readonly publicUrl: () => string;
  /** Whether the operator said so: that counts more than what the configuration says. */
  readonly isPublicUrlGiven: boolean;
}

export interface SignInService {
  readonly signIn: SignIn;
  /** To be called when clients can reach the platform. */
  start(): void;
  close(): Promise<void>;
}

export function openSignIn(parts: SignInParts): SignInService {
  const { config, clock, logger } = parts;
  const baseUrl = ({ platformHost }: PlatformConfig): string =>
    platformHost && !parts.isPublicUrlGiven ? `https://${platformHost}` : parts.publicUrl();
  const warn = (connector: string, problem: string): void =>
    logger.warn({ connector, problem }, 'A connector needs to be looked at');
  const connectors = new ConnectorSet({ config, clock, baseUrl, warn });
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
  return { signIn, start: () => connectors.start(), close: () => connectors.close() };
}
