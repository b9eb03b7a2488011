/** providerC (spec 2.8.5): Google, with groups of a Workspace directory. */
import type { JWTPayload } from 'jose';
import type { JsonObject } from '../../apimachinery/index.ts';
import type { ProviderCConfig } from '../../config/index.ts';
import type { Connector, ConnectorContext, ProvidedIdentity } from '../connector.ts';
import { providerHttp } from '../provider-http.ts';
import { SignInError } from '../sign-in-error.ts';
import { codeFlow } from './code-flow.ts';
import { type DirectoryGroups, directoryGroups } from './directory-groups.ts';
import { listedGroups } from './group-gate.ts';
import { idTokenReader } from './id-token.ts';
import { textOf } from './provider-responses.ts';
import { withProviderTimeout } from './provider-timeout.ts';
import { assertSameSubject } from './same-subject.ts';
import { persistedTokens, type Tokens, tokensOf } from './tokens.ts';

const ISSUERS = new Set<unknown>(['https://accounts.google.com', 'accounts.google.com']);

export function createProviderC(
  id: string,
  block: ProviderCConfig,
  context: ConnectorContext,
): Connector {
  const { clientId = '', hostedDomains = [], serviceAccountFilePath, adminEmail = '' } = block;
  if (hostedDomains.length === 0 && (block.groups ?? []).length === 0) {
    context.warn(
      'no hostedDomains and no groups are named: every user with an account may sign in',
    );
  }
  const http = (context.http ?? providerHttp)();
  const readIdToken = idTokenReader('https://www.googleapis.com/oauth2/v3/certs', http);
  const groupsOf = serviceAccountFilePath
    ? directoryGroups({ path: serviceAccountFilePath, adminEmail, http, clock: context.clock })
    : undefined;
  const flow = codeFlow({
    issuer: 'https://accounts.google.com',
    authorizeUrl: 'https://accounts.google.com/o/oauth2/v2/auth',
    tokenUrl: 'https://oauth2.googleapis.com/token',
    clientId,
    clientSecret: block.clientSecret,
    // The directory is queried by address.
    scopes: [...new Set(['openid', ...block.scopes, ...(groupsOf ? ['email'] : [])])],
    http: () => http,
    clock: context.clock,
  });
  const rules = { clientId, isIssuer: ({ iss }: JWTPayload) => ISSUERS.has(iss) };
  const gates = { hostedDomains, groups: block.groups ?? [], groupsOf };
  const now = (): number => context.clock.now();

  return {
    id,
    type: 'providerC',
    callbackMethod: 'GET',
    begin: async (transaction) => ({
      kind: 'redirect',
      url: await flow.authorizationUrl(transaction, {
        ...furtherParameters(hostedDomains),
        nonce: transaction.nonce,
      }),
    }),
    async complete(transaction, callback, caller) {
      const signal = withProviderTimeout(caller);
      const tokens = await flow.exchange(transaction, callback, signal);
      const { nonce } = transaction;
      const { idToken = '', accessToken } = tokens;
      const own = { ...rules, nonce, accessToken, now: now() };
      const claims = await readIdToken(idToken, own);
      return admitted(accountOf(claims), { gates, tokens, signal });
    },
    async refresh(known, caller, keep) {
      const signal = withProviderTimeout(caller);
      const old = tokensOf(known);
      let account = knownAccount(known);
      let tokens = old;
      // Only a token renewal shows if the account still exists.
      if (old.refreshToken !== undefined) {
        tokens = { ...old, ...(await flow.renew(old.refreshToken, signal)) };
        await keep(keptData(account, tokens));
        if (tokens.idToken !== undefined) {
          account = {
            ...account,
            ...accountOf(
              await readIdToken(tokens.idToken, {
                ...rules,
                accessToken: tokens.accessToken,
                now: now(),
              }),
            ),
          };
        }
      }
      return assertSameSubject(known, await admitted(account, { gates, tokens, signal }));
    },
    close: () => http.close(),
  };
}

/** `hd` is only a hint for the page of the provider: the claim is checked. */
function furtherParameters(hostedDomains: readonly string[]): Record<string, string> {
  const [first, ...others] = hostedDomains;
  return {
    // The provider returns a refresh token only at the first consent, unless it is asked for again.
    access_type: 'offline',
    prompt: 'consent',
    ...(first === undefined ? {} : { hd: others.length > 0 ? '*' : first }),
  };
}

interface Account {
  readonly userId: string;
  readonly username?: string;
  readonly email?: string;
  readonly emailVerified?: boolean;
  /** Domain of the account's organization; absent for private accounts. */
  readonly hostedDomain?: string;
}

/** Absent claims are skipped, so that earlier values stay. */
function accountOf(claims: JWTPayload): Account {
  const email = textOf(claims['email']);
  const username = textOf(claims['name']) ?? email;
  const hostedDomain = textOf(claims['hd']);
  return {
    userId: String(claims.sub),
    ...(username === undefined ? {} : { username }),
    ...(email === undefined ? {} : { email, emailVerified: claims['email_verified'] === true }),
    ...(hostedDomain === undefined ? {} : { hostedDomain }),
  };
}

function knownAccount(known: ProvidedIdentity): Account {
  const { userId, username, email, emailVerified } = known;
  const hostedDomain = textOf(known.connectorData?.['hostedDomain']);
  return {
    ...{ userId, username, emailVerified },
    ...(email === undefined ? {} : { email }),
    ...(hostedDomain === undefined ? {} : { hostedDomain }),
  };
}

interface Gates {
  readonly hostedDomains: readonly string[];
  readonly groups: readonly string[];
  readonly groupsOf: DirectoryGroups | undefined;
}

async function admitted(
  account: Account,
  { gates, tokens, signal }: { gates: Gates; tokens: Tokens; signal: AbortSignal },
): Promise<ProvidedIdentity> {
  const { userId, username = userId, email, emailVerified = false, hostedDomain } = account;
  const domains = gates.hostedDomains.map((domain) => domain.toLowerCase());
  if (domains.length > 0 && !domains.includes(hostedDomain?.toLowerCase() ?? '')) {
    throw new SignInError('the account belongs to none of the hosted domains', {
      reason: 'foreign-domain',
      code: 403,
    });
  }
  const groups =
    gates.groupsOf !== undefined && email !== undefined && isOwnAddress(account)
      ? await gates.groupsOf(email, signal)
      : [];
  listedGroups(
    groups.map((group) => group.toLowerCase()),
    gates.groups.map((group) => group.toLowerCase()),
  );
  return {
    ...{ userId, username, emailVerified, groups, extraClaims: {} },
    ...(email === undefined ? {} : { email }),
    connectorData: keptData(account, tokens),
  };
}

/**
 * True if the address belongs to the account itself. A private account could once be opened with an address
 * at work, and keeps it when the address is reassigned.
 */
function isOwnAddress({ email = '', emailVerified, hostedDomain }: Account): boolean {
  return emailVerified === true && (hostedDomain !== undefined || /@gmail\.com$/i.test(email));
}

function keptData({ hostedDomain }: Account, tokens: Tokens): JsonObject {
  return { ...persistedTokens(tokens), ...(hostedDomain === undefined ? {} : { hostedDomain }) };
}
