/** Rules between the fields of the blocks `providerA` to `providerE` (spec sections 2.8.1, 2.8.3 to 2.8.6). */
import {
  dnsSubdomainProblems,
  type FieldError,
  type FieldPath,
  invalid,
  invalidSecret,
  mapAt,
  required,
} from '../../apimachinery/index.ts';
import { namedVariable } from './environment-references.ts';
import { isSharedTenant } from './multi-organization-tenants.ts';
import { pemInField, rootsProblem } from './root-certificates.ts';
import { hostProblem } from './value-rules.ts';

type Texts = readonly string[];

interface Client {
  readonly clientId?: string;
  readonly clientSecret?: string;
}

interface ProviderA extends Client {
  readonly hostName?: string;
  readonly rootCA?: string;
  readonly orgs?: readonly { readonly name: string; readonly teams?: Texts }[];
}

interface ProviderB extends Client {
  readonly baseURL?: string;
  readonly groups?: Texts;
}

interface ProviderC extends Client {
  readonly groups?: Texts;
  readonly scopes?: Texts;
  readonly hostedDomains?: Texts;
  readonly serviceAccountFilePath?: string;
  readonly adminEmail?: string;
}

interface ProviderD extends Client {
  readonly groups?: Texts;
  readonly tenant?: string;
  readonly onlySecurityGroups?: boolean;
  readonly useGroupsAsWhitelist?: boolean;
}

interface ProviderE {
  readonly host?: string;
  readonly bearerToken?: string;
  readonly insecure?: boolean;
}

export interface ProviderBlocks {
  readonly providerA?: ProviderA;
  readonly providerB?: ProviderB;
  readonly providerC?: ProviderC;
  readonly providerD?: ProviderD;
  /** Only at the top level, not in a connector. */
  readonly providerE?: ProviderE;
}

/** Checks of one kind of block. */
interface Rules<Block> {
  problems(block: Block, path: FieldPath): FieldError[];
  /** Each text begins with the name of a field. */
  warnings(block: Block): string[];
}

const RULES: {
  readonly [Name in keyof Required<ProviderBlocks>]: Rules<Required<ProviderBlocks>[Name]>;
} = {
  providerA: { problems: providerAProblems, warnings: providerAWarnings },
  providerB: { problems: providerBProblems, warnings: providerBWarnings },
  providerC: { problems: providerCProblems, warnings: providerCWarnings },
  providerD: { problems: providerDProblems, warnings: providerDWarnings },
  providerE: { problems: providerEProblems, warnings: providerEWarnings },
};
const NAMES = Object.keys(RULES) as (keyof ProviderBlocks)[];

export function providerProblems(blocks: ProviderBlocks, path: FieldPath): FieldError[] {
  return NAMES.flatMap((name) => {
    const { problems } = RULES[name];
    return blocks[name] === undefined ? [] : problems(blocks[name], [...path, name]);
  });
}

/** Each text begins with the path of a field. */
export function providerWarnings(blocks: ProviderBlocks, path: FieldPath): string[] {
  return NAMES.flatMap((name) => {
    const { warnings } = RULES[name];
    const block = blocks[name];
    if (block === undefined) return [];
    const client = name === 'providerE' ? [] : clientWarnings(mapAt<Client>(block, []));
    const all = [...client, ...warnings(block)];
    return all.map((text) => [...path, name, text].join('.'));
  });
}

function clientWarnings({ clientId, clientSecret }: Client): string[] {
  return Object.entries({ clientId, clientSecret })
    .filter(([, value]) => !value)
    .map(([field]) => `${field} is not set: nobody can sign in without it`);
}

function hasAny(list: Texts | undefined): boolean {
  return list !== undefined && list.length > 0;
}

function providerAProblems(provider: ProviderA, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const { hostName, rootCA, orgs = [] } = provider;
  if (hostName && hostProblem(hostName) !== undefined) {
    const detail = 'must be a host name without scheme and path';
    errors.push(invalid([...path, 'hostName'], hostName, detail));
  }
  if (rootCA && !hostName) {
    errors.push(
      required([...path, 'hostName'], 'rootCA is for a self-hosted edition; name its host'),
    );
  }
  const pem = rootCA ? pemInField(rootCA) : undefined;
  const problem = pem === undefined ? pathProblem(rootCA ?? '') : rootsProblem(pem);
  if (problem !== undefined) errors.push(invalidSecret([...path, 'rootCA'], problem));
  for (const [index, { name }] of orgs.entries()) {
    if (name === '') errors.push(required([...path, 'orgs', index, 'name']));
  }
  return errors;
}

function pathProblem(text: string): string | undefined {
  return /^[^\n\r\0]*$/.test(text)
    ? undefined
    : 'must be a certificate as PEM, base64 of one, or the path of a file';
}

function providerAWarnings({ orgs = [] }: ProviderA): string[] {
  if (orgs.length === 0) return ['orgs names none: everybody with an account there gets in'];
  return orgs.flatMap(({ name, teams }, index) => {
    const warnings: string[] = [];
    if (teams?.length === 0) {
      warnings.push(`orgs.${index}.teams is empty: every member of the organization gets in`);
    }
    if (!/^[\w-]+$/.test(name)) {
      warnings.push(`orgs.${index}.name is not the name of an organization in its URL`);
    }
    return warnings;
  });
}

function providerBProblems({ baseURL = '' }: ProviderB, path: FieldPath): FieldError[] {
  return /[?#]/.test(baseURL)
    ? [invalid([...path, 'baseURL'], baseURL, 'must have no query and no fragment')]
    : [];
}

function providerBWarnings({ baseURL = '', groups }: ProviderB): string[] {
  const warnings: string[] = [];
  if (baseURL.startsWith('http://')) {
    warnings.push('baseURL has no TLS: an attacker on the network can sign in as any user');
  }
  if (!hasAny(groups)) warnings.push('groups names none: everybody with an account there gets in');
  return warnings;
}

function providerCProblems(provider: ProviderC, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const { serviceAccountFilePath, adminEmail, hostedDomains = [], scopes = [] } = provider;
  if (serviceAccountFilePath && !adminEmail) {
    const detail = 'the service account reads groups in the name of an administrator';
    errors.push(required([...path, 'adminEmail'], detail));
  }
  if (hasAny(provider.groups) && !serviceAccountFilePath) {
    const detail =
      'groups cannot be checked without a service account, and every user would get in';
    errors.push(required([...path, 'serviceAccountFilePath'], detail));
  }
  if (adminEmail && !/^[^@\s]+@[^@\s]+$/.test(adminEmail)) {
    errors.push(invalid([...path, 'adminEmail'], adminEmail, 'must be an e-mail address'));
  }
  for (const [index, domain] of hostedDomains.entries()) {
    if (dnsSubdomainProblems(domain.toLowerCase()).length === 0) continue;
    const detail = 'must be a domain, as in "example.com"';
    errors.push(invalid([...path, 'hostedDomains', index], domain, detail));
  }
  for (const [index, scope] of scopes.entries()) {
    if (/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) continue;
    const detail = 'must be one scope, without spaces and quotes (RFC 6749)';
    errors.push(invalid([...path, 'scopes', index], scope, detail));
  }
  return errors;
}

function providerCWarnings(provider: ProviderC): string[] {
  const warnings: string[] = [];
  if (!hasAny(provider.hostedDomains) && !hasAny(provider.groups)) {
    warnings.push('hostedDomains and groups name none: everybody with an account there gets in');
  }
  if (provider.adminEmail && !provider.serviceAccountFilePath) {
    warnings.push('adminEmail has no effect without serviceAccountFilePath');
  }
  return warnings;
}

function providerDProblems({ tenant = '', groups }: ProviderD, path: FieldPath): FieldError[] {
  if (tenant !== '' && !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/i.test(tenant)) {
    const detail =
      'must be "common", "consumers", "organizations", or the uuid or domain of a tenant';
    return [invalid([...path, 'tenant'], tenant, detail)];
  }
  return hasAny(groups) && isSharedTenant(tenant)
    ? [
        invalid(
          [...path, 'tenant'],
          tenant || 'common',
          'groups can be checked in a single tenant only, and every user would get in; name the tenant',
        ),
      ]
    : [];
}

function providerDWarnings(provider: ProviderD): string[] {
  const { tenant = '', groups } = provider;
  const warnings: string[] = [];
  const isShared = isSharedTenant(tenant);
  if (isShared) warnings.push('tenant stands for many: everybody with an account there gets in');
  if (isShared && provider.onlySecurityGroups === true) {
    warnings.push('onlySecurityGroups has no effect: groups are read in a single tenant only');
  }
  if (provider.useGroupsAsWhitelist === true && !hasAny(groups)) {
    warnings.push('useGroupsAsWhitelist has no effect without groups');
  }
  return warnings;
}

function providerEProblems({ bearerToken }: ProviderE, path: FieldPath): FieldError[] {
  const isReference = bearerToken !== undefined && namedVariable(bearerToken) !== undefined;
  if (bearerToken && !isReference && !/^[^\s:]+:[^\s:]+$/.test(bearerToken)) {
    return [invalidSecret([...path, 'bearerToken'], 'must have the form name:secret')];
  }
  return [];
}

function providerEWarnings({ host, bearerToken, insecure }: ProviderE): string[] {
  const warnings: string[] = [];
  if (!host) warnings.push('host is not set: nobody can sign in without it');
  if (insecure === true) {
    warnings.push('insecure: the host is not verified; an attacker on the network gets the tokens');
  }
  if (!bearerToken) {
    warnings.push('bearerToken is not set: who is disabled there keeps access until the key ends');
  }
  return warnings;
}
