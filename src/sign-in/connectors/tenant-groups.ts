/** Groups of a tenant of providerD (spec 2.8.6), including indirect ones. */
import { isRecord } from '../../apimachinery/index.ts';
import type { ProviderDConfig } from '../../config/index.ts';
import { SignInError } from '../sign-in-error.ts';
import { listedGroups } from './group-gate.ts';
import { type JsonApi, pagesFrom } from './json-api.ts';
import {
  type ProviderAnswer,
  recordOf,
  recordsOf,
  textOf,
  unexpected,
} from './provider-responses.ts';

/** Limit of names per request. */
const AT_ONCE = 1000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type Rules = Pick<ProviderDConfig, 'groups' | 'onlySecurityGroups' | 'useGroupsAsWhitelist'>;

/**
 * Names of the groups. They are not unique: most tenants let every user create a group of any name. A group
 * that the configuration lists by id keeps its id, and no name that looks like an id is accepted.
 */
export async function tenantGroups(
  api: JsonApi,
  { groups: listed = [], onlySecurityGroups = false, useGroupsAsWhitelist = false }: Rules,
  warn: (message: string) => void,
): Promise<string[]> {
  const ids = await groupIds(api, { onlySecurityGroups, isRequired: listed.length > 0, warn });
  const listedIds = new Set(listed.filter((entry) => UUID.test(entry)).map(lower));
  const named = ids.filter((id) => !listedIds.has(id));
  const names = needsNames(listed, useGroupsAsWhitelist) ? await namesOf(api, named) : [];
  const groups = [...ids.filter((id) => listedIds.has(id)), ...names];
  const found = listedGroups(
    groups,
    listed.map((entry) => (UUID.test(entry) ? lower(entry) : entry)),
  );
  return useGroupsAsWhitelist && listed.length > 0 ? found : groups;
}

function needsNames(listed: readonly string[], isWhitelist: boolean): boolean {
  return !isWhitelist || listed.length === 0 || listed.some((entry) => !UUID.test(entry));
}

async function groupIds(
  api: JsonApi,
  rules: { onlySecurityGroups: boolean; isRequired: boolean; warn: (message: string) => void },
): Promise<string[]> {
  const first = await api.post('/v1.0/me/getMemberGroups', {
    securityEnabledOnly: rules.onlySecurityGroups,
  });
  if (first.status === 403) {
    const why = 'groups cannot be read: an administrator has to consent to directory.read.all';
    if (rules.isRequired) throw new SignInError(why, { reason: 'no-consent', code: 502 });
    rules.warn(why);
    return [];
  }
  if (first.status === 400 && errorCode(first) === 'Directory_ResultSizeLimitExceeded') {
    const message = 'the account is in more groups than the provider lists (11,000)';
    throw new SignInError(message, { reason: 'too-many-groups', code: 502 });
  }
  const ids: string[] = [];
  for await (const page of pagesFrom(api, first, nextLink)) {
    const { value } = recordOf(page);
    if (!Array.isArray(value)) throw unexpected(page.url, 'no list');
    ids.push(...value.filter((id) => typeof id === 'string').map(lower));
  }
  return [...new Set(ids)];
}

async function namesOf(api: JsonApi, ids: readonly string[]): Promise<string[]> {
  const names: string[] = [];
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    const first = api.post('/v1.0/directoryObjects/getByIds', {
      ids: ids.slice(start, start + AT_ONCE),
      types: ['group'],
    });
    for await (const page of pagesFrom(api, first, nextLink)) {
      names.push(...recordsOf(page, 'value').flatMap(nameOf));
    }
  }
  return names;
}

function nameOf({ id, displayName }: Record<string, unknown>): string[] {
  const name = textOf(displayName);
  const shown = name === undefined || UUID.test(name) ? textOf(id)?.toLowerCase() : name;
  return shown === undefined ? [] : [shown];
}

function nextLink(answer: ProviderAnswer): string | undefined {
  return textOf(recordOf(answer)['@odata.nextLink']);
}

function errorCode({ body }: ProviderAnswer): unknown {
  const error = isRecord(body) ? body['error'] : undefined;
  return isRecord(error) ? error['code'] : undefined;
}

function lower(text: string): string {
  return text.toLowerCase();
}
