/**
 * Sign-in with a password. A name or address with too many failures must wait, and during that time even
 * the right password is refused, since the wait would otherwise reveal it. Unknown users, users without a
 * password and wrong passwords have the same result after the same time.
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
  /** Network address of the request. */
  readonly address: string;
  readonly requestId: string;
}

/** After the burst, one attempt per minute. */
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

  /** Throws SignInError: 401 for a wrong password, 403 if passwords are disabled, 429 for too many failures. */
  async signIn(attempt: PasswordAttempt): Promise<LoginKey> {
    if (this.#options.config.current.auth.password?.disabled === true) {
      throw new SignInError('signing in with a password is disabled', {
        reason: 'password-disabled',
        code: 403,
      });
    }
    const { address, requestId } = attempt;
    const username = attempt.username.slice(0, LONGEST_NAME);
    // An address that must wait does not count against names: it could lock out others.
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
    // Checking takes time: a password that changed meanwhile fails as well.
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
