/** providerA (spec 2.8.3): GitHub, and GitHub Enterprise Server where `hostName` names one. */
import { isRecord } from '../../apimachinery/index.ts';
import type { ProviderAConfig } from '../../config/index.ts';
import { pemInField, rootsProblem } from '../../kinds/index.ts';
import type { Connector, ConnectorContext, ProvidedIdentity } from '../connector.ts';
import type { ProviderHttp, ProviderTrust } from '../provider-http.ts';
import { providerHttp, readCertificates } from '../provider-http.ts';
import { SignInError } from '../sign-in-error.ts';
import { codeFlow } from './code-flow.ts';
import { codeFlowConnector } from './code-flow-connector.ts';
import { notAMember } from './group-gate.ts';
import { type JsonApi, jsonApi, pagesFrom } from './json-api.ts';
import {
  bodyOf,
  numericId,
  type ProviderAnswer,
  recordOf,
  recordsOf,
  textOf,
  unexpected,
} from './provider-responses.ts';
import { persistedTokens, type Tokens } from './tokens.ts';

type Organizations = NonNullable<ProviderAConfig['orgs']>;

/**
 * Organizations and teams of providerA (spec 2.8.3). A user is admitted as a member of one organization
 * without listed teams, or of one listed team.
 */
interface OrganizationQuestion {
  readonly orgs: Organizations;
  /** Name of the account. */
  readonly login: string;
  warn(message: string): void;
}

interface Team {
  /** Name of the organization in lower case, since its case does not matter. */
  readonly org: string;
  /** Name, not slug. */
  readonly name: string;
}

/** Trust in a provider's root certificate from the configuration. */
interface TrustingHttp {
  /** Reads a file at each use, so that a new certificate counts at once. Throws SignInError. */
  http(): ProviderHttp;
  close(): Promise<void>;
}

const HEADERS = {
  accept: 'application/vnd.github+json',
  'x-github-api-version': '2022-11-28',
};

export function createProviderA(
  id: string,
  block: ProviderAConfig,
  context: ConnectorContext,
): Connector {
  const { hostName, orgs = [] } = block;
  const web = hostName ? `https://${hostName}` : 'https://github.com';
  const base = hostName ? `https://${hostName}/api/v3` : 'https://api.github.com';
  if (orgs.length === 0) {
    context.warn(`no orgs are named: every user with an account at ${web} may sign in`);
  }
  const trust = trustingHttp(hostName ? block.rootCA : undefined, context.http ?? providerHttp);
  const flow = codeFlow({
    issuer: `${web}/login/oauth`,
    authorizeUrl: `${web}/login/oauth/authorize`,
    tokenUrl: `${web}/login/oauth/access_token`,
    clientId: block.clientId ?? '',
    clientSecret: block.clientSecret,
    scopes: ['user:email', ...(orgs.length > 0 ? ['read:org'] : [])],
    http: trust.http,
    clock: context.clock,
  });
  const identityOf = async (tokens: Tokens, signal: AbortSignal): Promise<ProvidedIdentity> => {
    const { accessToken: token } = tokens;
    const api = jsonApi({
      ...{ http: trust.http(), base, token, signal, headers: HEADERS, isBusy },
    });
    const person = await personOf(api, { isOwnHost: Boolean(hostName) });
    const groups = await organizationGroups(api, {
      ...{ orgs, login: person.preferredUsername, warn: context.warn },
    });
    return { ...person, groups, extraClaims: {}, connectorData: persistedTokens(tokens) };
  };
  return codeFlowConnector({
    id,
    type: 'providerA',
    flow,
    clock: context.clock,
    identityOf,
    close: trust.close,
  });
}

/** `organization:team`, with the organization as configured. Throws SignInError without a membership. */
async function organizationGroups(api: JsonApi, question: OrganizationQuestion): Promise<string[]> {
  const { orgs } = question;
  if (orgs.length === 0) return [];
  const own: Organizations[number][] = [];
  const members = new Map<string, boolean>();
  for (const org of orgs) {
    const key = org.name.toLowerCase();
    const isMember = members.get(key) ?? (await isMemberOf(api, org.name, question));
    members.set(key, isMember);
    if (isMember) own.push(org);
  }
  if (own.length === 0) throw notAMember();
  const teams = await teamsOf(api);
  const groups = own.flatMap(({ name, teams: listed = [] }) =>
    teams
      .filter((team) => team.org === name.toLowerCase())
      .filter((team) => listed.length === 0 || listed.includes(team.name))
      .map((team) => `${name}:${team.name}`),
  );
  const isOpen = own.some(({ teams: listed = [] }) => listed.length === 0);
  if (!isOpen && groups.length === 0) throw notAMember();
  return [...new Set(groups)];
}

async function isMemberOf(
  api: JsonApi,
  org: string,
  { login, warn }: OrganizationQuestion,
): Promise<boolean> {
  const answer = await api.get(
    `/orgs/${encodeURIComponent(org)}/members/${encodeURIComponent(login)}`,
  );
  switch (answer.status) {
    case 204:
      return true;
    case 302:
    case 404:
      return false;
    case 403:
      warn(
        `organization ${org} does not say who its members are; has it approved the application?`,
      );
      return false;
    case 401:
      bodyOf(answer);
      return false;
    default:
      throw unexpected(answer.url, `status ${answer.status}`);
  }
}

async function teamsOf(api: JsonApi): Promise<Team[]> {
  const teams: Team[] = [];
  for await (const page of pagesFrom(api, api.get('/user/teams?per_page=100'), linkedNext)) {
    for (const { name, organization } of recordsOf(page)) {
      const login = isRecord(organization) ? organization['login'] : undefined;
      if (typeof name !== 'string' || typeof login !== 'string') continue;
      teams.push({ org: login.toLowerCase(), name });
    }
  }
  return teams;
}

/** The next page of RFC 8288. */
function linkedNext({ headers }: ProviderAnswer): string | undefined {
  for (const [, url, parameters = ''] of (headers.get('link') ?? '').matchAll(
    /<([^<>]*)>([^<>]*)/g,
  )) {
    if (/;\s?rel="?next"?/i.test(parameters)) return url;
  }
  return undefined;
}

/** `rootCA`: a path, PEM, or base64 of PEM; empty or absent: only the system roots. */
function trustingHttp(
  rootCA: string | undefined,
  make: (trust?: ProviderTrust) => ProviderHttp,
): TrustingHttp {
  const made: { ca: string | undefined; http: ProviderHttp }[] = [];
  return {
    http() {
      const ca = rootCA ? rootsIn(rootCA) : undefined;
      const last = made.at(-1);
      if (last !== undefined && last.ca === ca) return last.http;
      const http = make(ca === undefined ? {} : { ca });
      made.push({ ca, http });
      return http;
    },
    async close() {
      await Promise.all(made.splice(0).map(({ http }) => http.close()));
    },
  };
}

function rootsIn(rootCA: string): string {
  const pem = pemInField(rootCA) ?? readCertificates(rootCA);
  const problem = rootsProblem(pem);
  if (problem === undefined) return pem;
  throw new SignInError(`rootCA ${problem}`, { reason: 'ca-unreadable', code: 502 });
}

/** The API has no status of its own for overload. */
function isBusy({ status, headers, body }: ProviderAnswer): boolean {
  if (status !== 403) return false;
  const message = isRecord(body) ? body['message'] : undefined;
  return (
    headers.has('retry-after') ||
    headers.get('x-ratelimit-remaining') === '0' ||
    (typeof message === 'string' && /rate limit/i.test(message))
  );
}

type Person = Pick<ProvidedIdentity, 'userId' | 'username' | 'email' | 'emailVerified'> & {
  readonly preferredUsername: string;
};

async function personOf(api: JsonApi, { isOwnHost }: { isOwnHost: boolean }): Promise<Person> {
  const answer = await api.get('/user');
  const user = recordOf(answer);
  const login = textOf(user['login']);
  if (login === undefined) throw unexpected(answer.url, 'no login');
  const email = textOf(user['email']) ?? (await primaryEmail(api, isOwnHost));
  return {
    userId: numericId(answer),
    username: textOf(user['name']) ?? login,
    preferredUsername: login,
    // Only a verified address can be public.
    ...(email === undefined ? { emailVerified: false } : { email, emailVerified: true }),
  };
}

/** Enterprise servers do not verify addresses, and report all as verified. */
async function primaryEmail(api: JsonApi, isOwnHost: boolean): Promise<string | undefined> {
  for await (const page of pagesFrom(api, api.get('/user/emails?per_page=100'), linkedNext)) {
    for (const { email, primary, verified } of recordsOf(page)) {
      if (primary === true && (verified === true || isOwnHost)) return textOf(email);
    }
  }
  return undefined;
}
