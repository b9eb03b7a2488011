/**
 * Rules between the fields of `auth` in the configuration (spec sections 2.8.1 to 2.8.7). Three of
 * them refuse what would otherwise silently let everyone in (reference: identity, section 0).
 */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidSecret,
  required,
  tooLong,
  tooMany,
} from '../apimachinery/field-error.ts';
import { type Saml, samlProblems, samlWarnings } from './config-saml-rules.ts';

type Texts = readonly string[];

interface Oidc {
  readonly groups?: Texts;
  readonly groupsClaim?: string;
}

interface ProviderA {
  readonly hostName?: string;
  readonly rootCA?: string;
}

interface ProviderC {
  readonly groups?: Texts;
  readonly serviceAccountFilePath?: string;
  readonly adminEmail?: string;
}

interface ProviderD {
  readonly groups?: Texts;
  readonly tenant?: string;
}

interface Blocks {
  readonly oidc?: Oidc;
  readonly providerA?: ProviderA;
  readonly providerB?: object;
  readonly providerC?: ProviderC;
  readonly providerD?: ProviderD;
  readonly saml?: Saml;
}

interface Connector extends Blocks {
  readonly id: string;
}

export interface AuthConfig extends Blocks {
  readonly connectors?: readonly Connector[];
  readonly customHttpHeaders?: Readonly<Record<string, string>>;
  readonly groupsFilters?: Texts;
}

const BLOCKS = ['oidc', 'providerA', 'providerB', 'providerC', 'providerD', 'saml'] as const;

/** Paths under `/auth/` that are no connectors. */
const RESERVED_IDS = new Set<string>([
  ...BLOCKS,
  'providerE',
  'password',
  'token',
  'logout',
  'device',
  'cli',
  'info',
]);

export function authProblems(auth: AuthConfig, path: FieldPath): FieldError[] {
  return [
    ...blockProblems(auth, path),
    ...(auth.connectors ?? []).flatMap((connector, index) =>
      connectorProblems(connector, [...path, 'connectors', index]),
    ),
    ...duplicateIds(auth.connectors ?? [], [...path, 'connectors']),
    ...filterProblems(auth.groupsFilters ?? [], [...path, 'groupsFilters']),
    ...headerProblems(auth.customHttpHeaders ?? {}, [...path, 'customHttpHeaders']),
  ];
}

/** Every block of the configuration with its path, those of connectors included. */
export function authBlocks(
  auth: AuthConfig,
  path: FieldPath,
): { block: Record<string, unknown>; path: FieldPath }[] {
  const homes: [Blocks, FieldPath][] = [
    [auth, path],
    ...(auth.connectors ?? []).map((connector, index): [Blocks, FieldPath] => [
      connector,
      [...path, 'connectors', index],
    ]),
  ];
  return homes.flatMap(([home, at]) =>
    BLOCKS.flatMap((name) => {
      const block = home[name];
      return block === undefined
        ? []
        : [{ block: block as Record<string, unknown>, path: [...at, name] }];
    }),
  );
}

function blockProblems(home: Blocks, path: FieldPath): FieldError[] {
  const { oidc, providerA, providerC, providerD, saml } = home;
  return [
    ...(oidc ? oidcProblems(oidc, [...path, 'oidc']) : []),
    ...(providerA ? providerAProblems(providerA, [...path, 'providerA']) : []),
    ...(providerC ? providerCProblems(providerC, [...path, 'providerC']) : []),
    ...(providerD ? providerDProblems(providerD, [...path, 'providerD']) : []),
    ...(saml ? samlProblems(saml, [...path, 'saml']) : []),
  ];
}

function isSet(value: string | Texts | undefined): boolean {
  return value !== undefined && value.length > 0;
}

function oidcProblems(oidc: Oidc, path: FieldPath): FieldError[] {
  return isSet(oidc.groups) && !isSet(oidc.groupsClaim)
    ? [
        required(
          [...path, 'groupsClaim'],
          'groups limits who may log in by a claim; name the claim',
        ),
      ]
    : [];
}

function providerAProblems(provider: ProviderA, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (provider.hostName?.includes('/')) {
    const detail = 'must be a host name without scheme and path';
    errors.push(invalid([...path, 'hostName'], provider.hostName, detail));
  }
  if (isSet(provider.rootCA) && !isSet(provider.hostName)) {
    errors.push(
      required([...path, 'hostName'], 'rootCA is for a self-hosted edition; name its host'),
    );
  }
  return errors;
}

function providerCProblems(provider: ProviderC, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const hasAccount = isSet(provider.serviceAccountFilePath);
  if (hasAccount && !isSet(provider.adminEmail)) {
    const detail = 'the service account reads groups in the name of an administrator';
    errors.push(required([...path, 'adminEmail'], detail));
  }
  if (isSet(provider.groups) && !hasAccount) {
    const detail = 'groups cannot be checked without a service account, and everyone would get in';
    errors.push(required([...path, 'serviceAccountFilePath'], detail));
  }
  return errors;
}

const SHARED_TENANTS = new Set(['common', 'consumers', 'organizations']);

function providerDProblems(provider: ProviderD, path: FieldPath): FieldError[] {
  const tenant = isSet(provider.tenant) ? String(provider.tenant) : 'common';
  return isSet(provider.groups) && SHARED_TENANTS.has(tenant)
    ? [
        invalid(
          [...path, 'tenant'],
          tenant,
          'groups can be checked in a single tenant only, and everyone would get in; name the tenant',
        ),
      ]
    : [];
}

function connectorProblems(connector: Connector, path: FieldPath): FieldError[] {
  const errors = blockProblems(connector, path);
  const id = connector.id;
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(id)) {
    const detail =
      "must consist of lower case letters, digits and '-': it becomes part of the login URL";
    errors.push(invalid([...path, 'id'], id, detail));
  } else if (RESERVED_IDS.has(id)) {
    errors.push(invalid([...path, 'id'], id, 'is taken by the platform; choose another'));
  }
  const present = BLOCKS.filter((name) => connector[name] !== undefined);
  if (present.length !== 1) {
    const found = present.length === 0 ? 'none' : present.join(' and ');
    errors.push(invalid(path, id, `must have exactly one of ${BLOCKS.join(', ')}; found ${found}`));
  }
  return errors;
}

function duplicateIds(connectors: readonly Connector[], path: FieldPath): FieldError[] {
  const seen = new Set<string>();
  return connectors.flatMap(({ id }, index) => {
    if (seen.has(id)) return [duplicate([...path, index, 'id'], id)];
    seen.add(id);
    return [];
  });
}

const MOST_FILTERS = 64;
const LONGEST_FILTER = 512;

/** Each is tried on each group of each login. */
function filterProblems(filters: Texts, path: FieldPath): FieldError[] {
  const many = filters.length > MOST_FILTERS ? [tooMany(path, filters.length, MOST_FILTERS)] : [];
  const long = filters.flatMap((filter, index) =>
    filter.length > LONGEST_FILTER ? [tooLong([...path, index], LONGEST_FILTER)] : [],
  );
  return [...many, ...long];
}

/** Headers that belong to the protocol or to the session. */
const FORBIDDEN_HEADERS = new Set([
  'audit-id',
  'content-type',
  'date',
  'keep-alive',
  'trailer',
  'upgrade',
  'set-cookie',
  'content-length',
  'transfer-encoding',
  'connection',
  'location',
  'www-authenticate',
]);

function headerProblems(headers: Readonly<Record<string, string>>, path: FieldPath): FieldError[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const at = [...path, name];
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
      return [invalid(at, name, 'is no name of an HTTP header (RFC 9110)')];
    }
    if (FORBIDDEN_HEADERS.has(name.toLowerCase())) {
      return [forbidden(at, 'this header is set by the platform itself')];
    }
    return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
      ? []
      : [invalidSecret(at, 'must not contain line breaks, other control characters or Unicode')];
  });
}

/** What works but is likely not meant. */
export function authWarnings(auth: AuthConfig, platformHost: string | undefined): string[] {
  return authBlocks(auth, ['auth']).flatMap(({ block, path }) => {
    const at = path.join('.');
    const warnings: string[] = [];
    const host = hostOf(block['redirectURI']);
    if (platformHost && host !== undefined && host !== platformHost) {
      warnings.push(`${at}.redirectURI leads to ${host}, but platformHost is ${platformHost}`);
    }
    if (path.at(-1) === 'saml') warnings.push(...samlWarnings(block as Saml, at));
    return warnings;
  });
}

function hostOf(uri: unknown): string | undefined {
  return typeof uri === 'string' && URL.canParse(uri) ? new URL(uri).host : undefined;
}
