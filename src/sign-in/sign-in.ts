/**
 * Sign-in through a provider, from the click to the key: attempts, connectors and admission. It knows
 * nothing of HTTP but the values from the browser.
 */
import { type LinearRegExp, linearRegExp } from '../apimachinery/index.ts';
import type { PlatformConfigSource } from '../config/index.ts';
import type { Accounts, AdmittedIdentity, LoginKey } from './accounts.ts';
import { admit } from './admission.ts';
import type {
  AnyConnector,
  Callback,
  Connector,
  ProvidedIdentity,
  ProviderRedirect,
} from './connector.ts';
import type { ConnectorSet } from './connectors/connector-set.ts';
import type { ConnectorUse } from './connectors/connector-slot.ts';
import type { PasswordLogin } from './password-login.ts';
import { Programs } from './programs.ts';
import { safeReturnTo } from './return-to.ts';
import { SignInError } from './sign-in-error.ts';
import { SignInLinks } from './sign-in-links.ts';
import { type LoginRoute, LoginTransactions, type PendingLogin } from './transactions.ts';

export interface SignInOptions {
  readonly config: PlatformConfigSource;
  readonly connectors: ConnectorSet;
  readonly accounts: Accounts;
  readonly clock: { now(): number };
  /** With scheme, without a trailing slash. */
  readonly baseUrl: () => string;
  readonly warn: (connector: string, message: string) => void;
  readonly passwords: PasswordLogin;
}

/** An admitted user. */
export interface SignedIn {
  readonly login: LoginKey;
  readonly identity: AdmittedIdentity;
  readonly returnTo: string;
}

export class SignIn {
  /** Sign-ins of programs without a browser. */
  readonly programs: Programs;
  /** Links that sign a user in once. */
  readonly links: SignInLinks;
  readonly #options: SignInOptions;
  readonly #pending: LoginTransactions;
  #filters: { readonly of: readonly string[]; readonly compiled: readonly LinearRegExp[] };

  constructor(options: SignInOptions) {
    this.#options = options;
    const { clock } = options;
    this.programs = new Programs(clock);
    this.links = new SignInLinks(clock);
    this.#pending = new LoginTransactions(clock);
    this.#filters = { of: [], compiled: [] };
  }

  get baseUrl(): string {
    return this.#options.baseUrl();
  }

  get accounts(): Accounts {
    return this.#options.accounts;
  }

  get passwords(): PasswordLogin {
    return this.#options.passwords;
  }

  get connectors(): ConnectorSet {
    return this.#options.connectors;
  }

  /** `browser`: id from its cookie. Also returns the `state` of the attempt. Throws SignInError. */
  async begin(
    id: string,
    of: { browser: string; signal: AbortSignal },
  ): Promise<{ sendOff: ProviderRedirect; state: string }> {
    return await this.#with(id, async (use) => {
      const pending = this.#pending.begin(routeOf(id, use), of.browser);
      const sendOff = await asked(use.connector).begin(pending, of.signal);
      return { sendOff, state: pending.state };
    });
  }

  /**
   * A callback with the cookies of the browser: by GET, or by the form of `post`. `cookie`, `returnTo`: values
   * of the browser. Throws SignInError.
   */
  async complete(
    id: string,
    of: {
      method: 'GET' | 'POST';
      cookie: string | undefined;
      returnTo: string | undefined;
      callback: Callback;
      requestId: string;
      signal: AbortSignal;
    },
  ): Promise<SignedIn> {
    return await this.#with(id, async (use) => {
      const pending = this.#find(id, use, stateOf(of.callback, of.method));
      if (!this.#pending.use(pending)) throw unknownAttempt();
      refuseMethod(use.connector, of.method);
      return await this.#end(use, { ...of, pending });
    });
  }

  /**
   * A callback by POST, which comes from another site and therefore without our cookies. Returns a form that
   * the browser posts to `complete` with its cookies; the server stores nothing meanwhile. Throws
   * SignInError.
   */
  async post(id: string, callback: Callback): Promise<Readonly<Record<string, string>>> {
    return await this.#with(id, async (use) => {
      // Nothing of the body is used before this check: anyone can post.
      const pending = this.#find(id, use, stateOf(callback, 'POST'));
      // An attempt that returns by the wrong method is consumed.
      if (use.connector.callbackMethod !== 'POST') this.#pending.use(pending);
      refuseMethod(use.connector, 'POST');
      return Object.fromEntries(callback.form);
    });
  }

  /** For providers whose users show a token. Throws SignInError. */
  async verify(
    id: string,
    of: { token: string; requestId: string; signal: AbortSignal },
  ): Promise<SignedIn> {
    return await this.#with(id, async ({ connector }) => {
      if (connector.callbackMethod !== 'none') throw wrongWay(id);
      const provided = await connector.verify(of.token, of.signal);
      return await this.#letIn(connector, { provided, returnTo: '/', requestId: of.requestId });
    });
  }

  /**
   * Creates another login key for the holder of the login key `keyName`, with the same identity. Throws
   * SignInError 403 if the key is not a login key, or the user may no longer sign in.
   */
  async keyFor(
    keyName: string | undefined,
    of: { readonly user: string; readonly displayName: string; readonly requestId: string },
  ): Promise<LoginKey> {
    const { accounts } = this.#options;
    if (keyName === undefined || !accounts.isLogin(keyName)) {
      throw new SignInError('only who signed in may sign in a program', {
        reason: 'no-login',
        code: 403,
      });
    }
    const kept = accounts.identityOf(keyName);
    const identity =
      kept &&
      (await this.#with(kept.connector, async ({ connector }) =>
        this.admit(connector, kept.provided),
      ));
    return await accounts.mint({ ...of, identity, approvedBy: keyName });
  }

  /** Sign-out page of the provider; undefined: it has none. Never rejects. */
  async logoutUrl(id: string, known: ProvidedIdentity | undefined): Promise<string | undefined> {
    try {
      return await this.#with(id, async ({ connector }) => {
        return 'logoutUrl' in connector ? await connector.logoutUrl?.(known) : undefined;
      });
    } catch (error) {
      // The session of the platform has ended already, which must not appear as a failure.
      if (error instanceof SignInError) return undefined;
      throw error;
    }
  }

  /** Admits an identity by the current configuration. Throws SignInError. */
  admit(connector: AnyConnector, provided: ProvidedIdentity): AdmittedIdentity {
    const { id, prefixes } = connector;
    const keepsGroup = this.#groupsFilter();
    const { identity, refusedGroups } = admit(provided, { connector: id, prefixes, keepsGroup });
    if (refusedGroups > 0) {
      this.#options.warn(id, `${refusedGroups} groups of a user were left out`);
    }
    return identity;
  }

  #find(id: string, use: ConnectorUse, state: string | null): PendingLogin {
    const pending = state === null ? undefined : this.#pending.find(state, routeOf(id, use));
    if (pending === undefined) throw unknownAttempt();
    return pending;
  }

  async #end(
    use: ConnectorUse,
    of: {
      pending: PendingLogin;
      callback: Callback;
      cookie: string | undefined;
      returnTo: string | undefined;
      requestId: string;
      signal: AbortSignal;
    },
  ): Promise<SignedIn> {
    const { connector, generation } = use;
    const { pending, callback, signal, requestId } = of;
    if (!this.#pending.isSameBrowser(pending, of.cookie)) {
      throw new SignInError('another browser began this attempt', { reason: 'other-browser' });
    }
    if (pending.generation !== generation) {
      throw new SignInError('the connector changed meanwhile', { reason: 'connector-changed' });
    }
    // The registered URL, whatever a proxy made of it.
    const url = new URL(pending.redirectUri);
    url.search = callback.url.search;
    const provided = await asked(connector).complete(pending, { ...callback, url }, signal);
    const returnTo = safeReturnTo(of.returnTo);
    return await this.#letIn(connector, { provided, returnTo, requestId });
  }

  async #letIn(
    connector: AnyConnector,
    of: { provided: ProvidedIdentity; returnTo: string; requestId: string },
  ): Promise<SignedIn> {
    const { accounts } = this.#options;
    const { provided, returnTo, requestId } = of;
    const identity = this.admit(connector, provided);
    const user = await accounts.enter(identity, requestId);
    const displayName = `Signed in with ${connector.id}`;
    const login = await accounts.mint({ user, displayName, identity, requestId });
    return { login, identity, returnTo };
  }

  async #with<T>(id: string, work: (use: ConnectorUse) => Promise<T>): Promise<T> {
    const use = await this.#options.connectors.use(id);
    try {
      return await work(use);
    } finally {
      use.release();
    }
  }

  /** Compiled once per configuration. */
  #groupsFilter(): ((group: string) => boolean) | undefined {
    const of = this.#options.config.current.auth.groupsFilters ?? [];
    if (this.#filters.of !== of) this.#filters = { of, compiled: of.map(linearRegExp) };
    const { compiled } = this.#filters;
    return compiled.length === 0 ? undefined : (group) => compiled.some((fits) => fits(group));
  }
}

function routeOf(connector: string, { generation, redirectUri }: ConnectorUse): LoginRoute {
  return { connector, generation, redirectUri };
}

/** RelayState of SAML, `state` of OAuth. */
function stateOf({ url, form }: Callback, method: 'GET' | 'POST'): string | null {
  if (method === 'GET') return url.searchParams.get('state');
  return form.get('RelayState') ?? form.get('state');
}

function asked(connector: AnyConnector): Connector {
  if (connector.callbackMethod === 'none') throw wrongWay(connector.id);
  return connector;
}

function refuseMethod(connector: AnyConnector, method: 'GET' | 'POST'): void {
  if (connector.callbackMethod === method) return;
  throw new SignInError(`connector ${connector.id} is not called back by ${method}`, {
    reason: 'wrong-method',
    code: 405,
  });
}

function wrongWay(id: string): SignInError {
  return new SignInError(`nobody signs in with ${id} that way`, { reason: 'wrong-way', code: 404 });
}

function unknownAttempt(): SignInError {
  return new SignInError('no attempt to sign in is known by that state, or it is over', {
    reason: 'unknown-state',
  });
}
