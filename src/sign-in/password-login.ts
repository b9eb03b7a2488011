/**
 * Signing in with a password. Names and addresses that fail too often wait, whoever asks next: a
 * right password is refused as well meanwhile, or waiting would tell which one is right. Unknown
 * users, users without a password and wrong passwords look the same, and take as long.
 */
import type { Clock } from '../apimachinery/index.ts';
import {
  type Directory,
  FailedLogins,
  PasswordChecker,
  TooManyPasswordsError,
} from '../auth/index.ts';
import type { PlatformConfigSource } from '../config/index.ts';
import type { Accounts, LoginKey } from './accounts.ts';
import { SignInError, tooManyAttempts } from './sign-in-error.ts';

export interface PasswordLoginOptions {
  readonly config: PlatformConfigSource;
  readonly directory: Pick<Directory, 'user'>;
  readonly accounts: Pick<Accounts, 'mint'>;
  readonly clock: Clock;
}

export interface PasswordAttempt {
  readonly username: string;
  readonly password: string;
  /** Where it comes from. */
  readonly address: string;
  readonly requestId: string;
}

/** One that failed so often waits a minute for each further try. */
const PER_USER = { burst: 8, perSecond: 1 / 60 };
const PER_ADDRESS = { burst: 20, perSecond: 1 / 5 };
const LONGEST_NAME = 253;

export class PasswordLogin {
  readonly #options: PasswordLoginOptions;
  readonly #checker = new PasswordChecker();
  readonly #byUser: FailedLogins;
  readonly #byAddress: FailedLogins;

  constructor(options: PasswordLoginOptions) {
    this.#options = options;
    this.#byUser = new FailedLogins(options.clock, PER_USER);
    this.#byAddress = new FailedLogins(options.clock, PER_ADDRESS);
  }

  /** Throws SignInError: 401 for a wrong one, 403 where nobody may, 429 for who has to wait. */
  async signIn(attempt: PasswordAttempt): Promise<LoginKey> {
    if (this.#options.config.current.auth.password?.disabled === true) {
      throw new SignInError('signing in with a password is disabled', {
        reason: 'password-disabled',
        code: 403,
      });
    }
    const { address, requestId } = attempt;
    const username = attempt.username.slice(0, LONGEST_NAME);
    // An address that has to wait counts for no name: it would make others wait.
    const user = await this.#byAddress.attempt(address, tooManyAttempts, () =>
      this.#byUser.attempt(username, tooManyAttempts, () =>
        this.#userOf(username, attempt.password),
      ),
    );
    return await this.#options.accounts.mint({
      user,
      displayName: 'Signed in with a password',
      requestId,
    });
  }

  async #userOf(username: string, password: string): Promise<string> {
    const { directory } = this.#options;
    const user = directory.user(username);
    const isRight = await this.#check(password, user?.passwordHash);
    if (user === undefined || !isRight) throw wrong();
    // Checking takes a while: a password that was changed meanwhile ends this sign-in as well.
    if (directory.user(username)?.passwordHash !== user.passwordHash) throw wrong();
    return user.name;
  }

  async #check(password: string, hash: string | undefined): Promise<boolean> {
    try {
      return await this.#checker.check(password, hash);
    } catch (error) {
      if (error instanceof TooManyPasswordsError) throw tooManyAttempts(1);
      throw error;
    }
  }
}

function wrong(): SignInError {
  return new SignInError('the user name or the password is wrong', {
    reason: 'wrong-password',
    code: 401,
  });
}
