/**
 * Rules between the fields of `auth` in the configuration (spec sections 2.8.1 to 2.8.7). Three of
 * them reject settings that would silently let everyone in (reference: identity, section 0).
 */
import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  invalidSecret,
  isRecord,
  linearRegExp,
  required,
  tooLong,
  tooMany,
} from '../../apimachinery/index.ts';
import { type ProviderBlocks, providerProblems, providerWarnings } from './provider-rules.ts';
import { type Saml, samlProblems, samlWarnings } from './saml-rules.ts';

type Texts = readonly string[];

interface Oidc {
  readonly groups?: Texts;
  readonly groupsClaim?: string;
}

interface Blocks extends ProviderBlocks {
  readonly oidc?: Oidc;
  readonly saml?: Saml;
}

interface Connector extends Blocks {
  readonly id: string;
}

export interface AuthConfig extends Blocks {
  readonly accessKeyMaxTTLSeconds?: number;
  readonly connectors?: readonly Connector[];
  readonly customHttpHeaders?: Readonly<Record<string, string>>;
  readonly groupsFilters?: Texts;
}

const BLOCKS = ['oidc', 'providerA', 'providerB', 'providerC', 'providerD', 'saml'] as const;

/** Paths under `/auth/` that are not connectors. */
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

/** Every provider block with its path, including those of connectors. */
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
      const block: unknown = home[name];
      return isRecord(block) ? [{ block, path: [...at, name] }] : [];
    }),
  );
}

function blockProblems(home: Blocks, path: FieldPath): FieldError[] {
  const { oidc, saml } = home;
  return [
    ...(oidc ? oidcProblems(oidc, [...path, 'oidc']) : []),
    ...providerProblems(home, path),
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

/** Limits: each filter runs on each group of each login. */
function filterProblems(filters: Texts, path: FieldPath): FieldError[] {
  const many = filters.length > MOST_FILTERS ? [tooMany(path, filters.length, MOST_FILTERS)] : [];
  const wrong = filters.slice(0, MOST_FILTERS).flatMap((filter, index) => {
    const at = [...path, index];
    if (filter.length > LONGEST_FILTER) return [tooLong(at, LONGEST_FILTER)];
    const problem = filterProblem(filter);
    return problem === undefined ? [] : [invalid(at, filter, problem)];
  });
  return [...many, ...wrong];
}

/** A filter that does not compile would remove no group, or every group. */
function filterProblem(filter: string): string | undefined {
  try {
    linearRegExp(filter);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `is not a regular expression of RE2: ${why}`;
  }
}

/** Headers that the protocol or the session sets. */
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
      return [invalid(at, name, 'is not the name of an HTTP header (RFC 9110)')];
    }
    if (FORBIDDEN_HEADERS.has(name.toLowerCase())) {
      return [forbidden(at, 'this header is set by the platform itself')];
    }
    return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
      ? []
      : [invalidSecret(at, 'must not contain line breaks, other control characters or Unicode')];
  });
}

/** Warnings about settings that work but are likely a mistake. */
export function authWarnings(auth: AuthConfig, platformHost: string | undefined): string[] {
  const ofBlocks = authBlocks(auth, ['auth']).flatMap(({ block, path }) => {
    const at = path.join('.');
    const name = String(path.at(-1));
    const warnings = redirectWarnings(block['redirectURI'], { platformHost, auth, path });
    if (name === 'saml') warnings.push(...samlWarnings(block, at));
    else warnings.push(...providerWarnings({ [name]: block }, path.slice(0, -1)));
    return warnings;
  });
  const { providerE } = auth;
  return [
    ...lifeWarnings(auth),
    ...ofBlocks,
    ...(providerE ? providerWarnings({ providerE }, ['auth']) : []),
  ];
}

/** A shorter lifetime locks out everyone, including the administrator who sets it. */
const SHORT_LIFE_SECONDS = 3600;

function lifeWarnings({ accessKeyMaxTTLSeconds: most = 0 }: AuthConfig): string[] {
  if (most === 0 || most >= SHORT_LIFE_SECONDS) return [];
  return [
    `auth.accessKeyMaxTTLSeconds ends every key ${most} seconds after its creation, also existing keys and the key of the first administrator; if nobody can sign in any more, undo this with a push by path on the machine of the daemon`,
  ];
}

function redirectWarnings(
  uri: unknown,
  of: { platformHost: string | undefined; auth: AuthConfig; path: FieldPath },
): string[] {
  if (typeof uri !== 'string' || !URL.canParse(uri)) return [];
  const { host, pathname, search, hash } = new URL(uri);
  const { platformHost, auth, path } = of;
  const [, , index] = path;
  const id = path.length === 2 ? path[1] : auth.connectors?.[Number(index)]?.id;
  const at = `${path.join('.')}.redirectURI`;
  const warnings: string[] = [];
  if (platformHost && host !== platformHost) {
    warnings.push(`${at} leads to ${host}, but platformHost is ${platformHost}`);
  }
  if (search !== '' || hash !== '') {
    warnings.push(`${at} has a query or a fragment, which browsers do not bring back`);
  }
  if (!pathname.endsWith(`/auth/${id}/callback`)) {
    warnings.push(`${at} leads to ${pathname}, but the platform answers at /auth/${id}/callback`);
  }
  return warnings;
}
