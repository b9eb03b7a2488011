/** Formats of values of the configuration that its schema cannot express (spec section 2.8). */
import {
  dnsSubdomainProblems,
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  isRecord,
  type JsonObject,
  listAt,
  required,
  valueAt,
} from '../../apimachinery/index.ts';
import { parseQuantity } from './quantity.ts';

/** Problems of single values, and of lists with unique names. */
export function valueProblems(config: JsonObject): FieldError[] {
  return [
    ...VALUE_RULES.flatMap(([place, rule]) =>
      [...valuesAt(config, place.split('.'))].flatMap(({ path, value }) => {
        const problem = value === '' ? undefined : rule(value);
        return problem === undefined ? [] : [invalid(path, value, problem)];
      }),
    ),
    ...appsProblems(config),
    ...windowProblems(config),
  ];
}

/** Problem of a text that is not empty. The message does not repeat it. */
type Rule = (text: string) => string | undefined;

const isWebUrl: Rule = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    return 'must be a URL that begins with "https://" or "http://"';
  }
  return url.username === '' && url.password === ''
    ? undefined
    : 'must not hold a user name or password';
};

/** URL that a page loads or links to. A script in its place would run in the page. */
export const isPageUrl: Rule = (text) =>
  /^\/(?![/\\])[^\s\\]*$/.test(text) ? undefined : isWebUrl(text) && PAGE_URL;
const PAGE_URL = 'must begin with "https://", "http://" or one "/"';

export const isImage: Rule = (text) =>
  /^data:image\/(png|jpeg|gif|webp|svg\+xml|x-icon);base64,[A-Za-z0-9+/=]+$/.test(text)
    ? undefined
    : isPageUrl(text);

/** Colors go into style sheets, so they cannot close a rule or load a URL. */
export const isColor: Rule = (text) =>
  /^(#[0-9a-fA-F]{3,8}|[a-zA-Z]+|(rgb|hsl|hwb|lab|lch|oklab|oklch)a?\([\d\s.,%/+a-z-]*\))$/.test(
    text,
  )
    ? undefined
    : 'must be a CSS color, as in "#1a2b3c", "teal" or "rgb(0 128 128)"';

const isStorageClass: Rule = (text) =>
  text === '-' ? undefined : dnsSubdomainProblems(text)[0] && STORAGE_CLASS;
const STORAGE_CLASS = 'must be the name of a storage class, or "-" for no dynamic provisioning';

const isSize: Rule = (text) =>
  (parseQuantity(text) ?? 0) > 0 ? undefined : 'must be a quantity above zero, as in "50Gi"';

const isRetention: Rule = (text) =>
  /[1-9]/.test(text) ? undefined : 'must be a time above zero, as in "30d" or "1y"';

/** Problem of a host name, with or without a port. */
export function hostProblem(text: string): string | undefined {
  const [, host = ''] = /^([^:]*)(?::\d{1,5})?$/.exec(text) ?? [];
  const isName = dnsSubdomainProblems(host.toLowerCase()).length === 0;
  return isName || /^\[[0-9a-fA-F:.]+\](?::\d{1,5})?$/.test(text) ? undefined : HOST;
}
const HOST =
  'must be a host name, without a scheme such as "https://" and without a path; a port may follow';

/** A module of the user interface, or a URL that it may call. */
const isExternal: Rule = (text) =>
  /^[a-z][a-z0-9-]*$/i.test(text) ? undefined : isWebUrl(text.replace('://*.', '://any.'));

const isRepositoryUrl: Rule = (text) =>
  /^oci:\/\/[^\s/]/.test(text) ? undefined : isWebUrl(text) && `${isWebUrl(text)}, or "oci://"`;

const BLOCK_URLS = [
  'oidc.issuerUrl',
  'oidc.postLogoutRedirectURI',
  'saml.ssoURL',
  'providerB.baseURL',
];
const REDIRECTS = ['oidc', 'providerA', 'providerB', 'providerC', 'providerD', 'saml'];

/** Path of a value (`*` matches any step) and its rule. */
const VALUE_RULES: readonly (readonly [string, Rule])[] = [
  ...['auth', 'auth.connectors.*'].flatMap((home) =>
    [...BLOCK_URLS, ...REDIRECTS.map((block) => `${block}.redirectURI`)].map(
      (field): [string, Rule] => [`${home}.${field}`, isWebUrl],
    ),
  ),
  ['platformHost', hostProblem],
  ['auth.providerE.host', hostProblem],
  ['secretStore.address', isWebUrl],
  ['secretStores.*.address', isWebUrl],
  ['apps.repositories.*.url', isRepositoryUrl],
  ['apps.predefinedApps.*.iconUrl', isImage],
  ['apps.predefinedApps.*.readmeUrl', isWebUrl],
  ...['logoURL', 'faviconURL', 'smallLogoURL', 'navBarButtons.*.icon'].map(
    (field): [string, Rule] => [`uiSettings.${field}`, isImage],
  ),
  ...['customCss.*', 'customJavaScript.*', 'navBarButtons.*.link'].map((field): [string, Rule] => [
    `uiSettings.${field}`,
    isPageUrl,
  ]),
  ...['logoBackgroundColor', 'primaryColor', 'sidebarColor', 'accentColor'].map(
    (field): [string, Rule] => [`uiSettings.${field}`, isColor],
  ),
  ['uiSettings.externalURLs.allow.*', isExternal],
  ['platformDB.storageClass', isStorageClass],
  ...['global', 'cluster'].flatMap((where): [string, Rule][] => [
    [`costControl.${where}.metrics.storage.storageClass`, isStorageClass],
    [`costControl.${where}.metrics.storage.size`, isSize],
    [`costControl.${where}.metrics.retention`, isRetention],
  ]),
];

function appsProblems(config: JsonObject): FieldError[] {
  const repositories = listAt<JsonObject>(config, ['apps', 'repositories']);
  const charts = listAt<JsonObject>(config, ['apps', 'predefinedApps']);
  const seen = new Set<unknown>();
  return [
    ...repositories.flatMap(({ name, url }, index) => {
      const at = ['apps', 'repositories', index];
      const found = seen.has(name) && name ? [duplicate([...at, 'name'], name)] : [];
      seen.add(name);
      const missing = Object.entries({ name, url }).filter(([, value]) => !value);
      return [...found, ...missing.map(([field]) => required([...at, field]))];
    }),
    ...charts.flatMap(({ chart }, index) => {
      const at = ['apps', 'predefinedApps', index, 'chart'];
      if (!chart) return [required(at)];
      return /^[^/\s]+\/[^/\s]+$/.test(String(chart))
        ? []
        : [
            invalid(
              at,
              chart,
              'must be the repository and the name of a chart, as in "stable/nginx"',
            ),
          ];
    }),
  ];
}

/** A window may pass midnight. It lasts less than a day. */
function windowProblems(config: JsonObject): FieldError[] {
  const path: FieldPath = ['cloud', 'maintenanceWindow', 'timeWindow'];
  const text = valueAt(config, path);
  if (typeof text !== 'string') return [];
  const [from, to] = text.split('-');
  return from === to ? [invalid(path, text, 'must not end at the time at which it begins')] : [];
}

function* valuesAt(
  value: unknown,
  [step, ...rest]: readonly string[],
  path: FieldPath = [],
): IterableIterator<{ readonly path: FieldPath; readonly value: string }> {
  if (step === undefined) {
    if (typeof value === 'string') yield { path, value };
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* valuesAt(item, rest, [...path, index]);
  } else if (isRecord(value) && Object.hasOwn(value, step)) {
    yield* valuesAt(value[step], rest, [...path, step]);
  }
}
