/**
 * Organizations and teams of providerA (spec 2.8.3). A user is admitted as a member of one organization
 * without listed teams, or of one listed team.
 */
import { isRecord } from '../../apimachinery/index.ts';
import type { ProviderAConfig } from '../../config/index.ts';
import { notAMember } from './group-gate.ts';
import { type JsonApi, linkedNext, pagesFrom } from './json-api.ts';
import { bodyOf, recordsOf, unexpected } from './provider-responses.ts';

type Organizations = NonNullable<ProviderAConfig['orgs']>;

export interface OrganizationQuestion {
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

/** `organization:team`, with the organization as configured. Throws SignInError without a membership. */
export async function organizationGroups(
  api: JsonApi,
  question: OrganizationQuestion,
): Promise<string[]> {
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
