/** Documents: health, version, discovery, OpenAPI, schemas, metrics, keys. */
import { MethodNotAllowedError, noSuchRoute } from '../../apimachinery/index.ts';
import { platformSettings, signInInfo, uiSettings } from '../../config/index.ts';
import { type KindTable, REVIEWS, schemaDocument, schemaNames } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { auditEventRoutes } from '../filters/audit-events.ts';
import { PATCH_SUPPORT } from '../handlers/patch.ts';
import { type Answer, jsonAnswer, textAnswer } from '../output/answer.ts';
import { negotiateOpenApiV2, requireJson } from '../output/negotiation.ts';
import { accessRoutes } from '../overview/access-explanation.ts';
import { searchRoute } from '../overview/search.ts';
import { summaryRoute } from '../overview/summary-route.ts';
import {
  AUTH_INFO_PATH,
  OPENAPI_PATH,
  PLATFORM_SETTINGS_PATH,
  UI_SETTINGS_PATH,
} from '../paths.ts';
import { type ApiRequest, header } from '../request.ts';
import { branchesRoute } from '../routes/branches.ts';
import { commitsRoute } from '../routes/commits.ts';
import { compareRoute } from '../routes/compare.ts';
import { costsRoute } from '../routes/costs.ts';
import { planRoute } from '../routes/plan.ts';
import { secretStoreRoutes } from '../routes/secret-store.ts';
import { suspensionRoutes } from '../routes/suspensions.ts';
import { syncRoutes } from '../routes/sync.ts';
import { type ApiGroupVersion, buildDiscovery } from './discovery.ts';
import { answerHealth } from './health.ts';
import { encodedApi, isDocumented } from './http-api/http-api.ts';
import { buildOpenApi } from './openapi.ts';
import { buildOpenApiV2 } from './openapi-v2.ts';
import { isNotModified, memoized, type ReadyDocument } from './ready-document.ts';
import { tokenDocuments } from './tokens.ts';
import { versionDocument } from './version.ts';

/** All kinds in discovery and OpenAPI: platform, core, client state, reviews. */
function everything({ kinds: table, core, clientState }: ServerDependencies): KindTable {
  const kinds = [...table.kinds, ...core.kinds.kinds, ...clientState.kinds.kinds, ...REVIEWS];
  return { ...table, kinds, groups: [...new Set(kinds.map(({ group }) => group))] };
}

/** Undefined: another document. */
type Document = (request: ApiRequest) => Answer | undefined | Promise<Answer>;

/** Throws 404 for unknown paths. Access was decided before. */
export type Documents = (request: ApiRequest) => Answer | Promise<Answer>;

export function buildDocuments(deps: ServerDependencies): Documents {
  const found = everything(deps);
  return inOrder([
    health(deps),
    readOnly(version(deps)),
    readOnly(discovery(found, [])),
    readOnly(openApi(deps, found)),
    refuseUndocumented,
    wholeApiDocument(deps, found),
    metrics(deps),
    schemas,
    settingsDocuments(deps),
    tokenDocuments(deps.tokens),
    syncRoutes(deps),
    secretStoreRoutes(deps),
    suspensionRoutes(deps),
    planRoute(deps),
    branchesRoute(deps),
    commitsRoute(deps),
    compareRoute(deps),
    costsRoute(deps),
    summaryRoute(deps),
    searchRoute(deps),
    accessRoutes(deps),
    auditEventRoutes(deps),
  ]);
}

/** The configuration for user interfaces, after the access check; undefined: another document. */
function settingsDocuments(
  deps: Pick<ServerDependencies, 'config' | 'version'>,
): (request: ApiRequest) => Answer | undefined {
  return ({ info }) => {
    if (info.belowRoot || !['get', 'head'].includes(info.verb)) return undefined;
    const config = deps.config.current;
    switch (info.path) {
      case UI_SETTINGS_PATH: {
        // Hides the version where /version needs a key.
        const isSecret = config.authenticateVersionEndpoint === true;
        return jsonAnswer(uiSettings(config, isSecret ? undefined : deps.version));
      }
      case AUTH_INFO_PATH:
        return withHeaders(jsonAnswer(signInInfo(config.auth)), config.auth.customHttpHeaders);
      case PLATFORM_SETTINGS_PATH:
        return jsonAnswer(platformSettings(config));
      default:
        return undefined;
    }
  };
}

/** The headers of the configuration are for the paths below `/auth`. */
function withHeaders(answer: Answer, custom: Readonly<Record<string, string>> = {}): Answer {
  const headers = Object.fromEntries(
    Object.entries(custom).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return { ...answer, headers };
}

/** Documents of a cluster of a tenant. */
export function buildClusterDocuments(deps: ServerDependencies): Documents {
  return inOrder([
    health(deps),
    readOnly(version(deps)),
    readOnly(discovery(deps.kinds, [])),
    readOnly(openApi(deps, deps.kinds)),
  ]);
}

/** Makes a document read-only. Throws 405. */
function readOnly(document: Document): Document {
  return (request) => {
    const answer = document(request);
    if (answer === undefined || READS.includes(request.info.verb)) return answer;
    throw new MethodNotAllowedError(`${request.info.path} can only be read`, {}, READ_METHODS);
  };
}

const READS = ['get', 'head'];
const READ_METHODS = READS.map((verb) => verb.toUpperCase());

function inOrder(documents: readonly Document[]): Documents {
  return (request) => {
    for (const document of documents) {
      const answer = document(request);
      if (answer !== undefined) return answer;
    }
    throw noSuchRoute();
  };
}

function health(deps: ServerDependencies): Document {
  return ({ info }) => {
    const found = answerHealth(deps.health, info.path, info.query);
    return found && textAnswer(found.text, found.code);
  };
}

function version(deps: ServerDependencies): Document {
  const { version: nodeVersion, platform, arch } = process;
  const build = { version: deps.version, nodeVersion, platform: `${platform}/${arch}` };
  const document = versionDocument(build);
  return ({ info }) => (info.path === '/version' ? jsonAnswer(document) : undefined);
}

const DISCOVERY_PATH = /^\/(api|apis)(?:\/([^/]+))?(?:\/([^/]+))?$/;

function discovery(kinds: KindTable, more: readonly ApiGroupVersion[]): Document {
  const documents = buildDiscovery(kinds, more);
  return (request) => {
    const match = request.info.belowRoot ? DISCOVERY_PATH.exec(request.info.path) : null;
    if (match === null) return undefined;
    const [, prefix, first, second] = match;
    const accept = header(request, 'accept');
    return ready(request, find());

    function find(): ReadyDocument | undefined {
      if (prefix === 'api') {
        if (first === undefined) return documents.api(accept);
        return second === undefined
          ? documents.resources({ group: '', version: first }, accept)
          : undefined;
      }
      if (first === undefined) return documents.apis(accept);
      if (second === undefined) return documents.group(first, accept);
      return documents.resources({ group: first, version: second }, accept);
    }
  };
}

/** The URL has the hash of the content, so that it never changes. */
const FOREVER = 'public, max-age=31536000, immutable';

function openApi(deps: ServerDependencies, kinds: KindTable): Document {
  const options = { root: deps.root, version: deps.version, ...PATCH_SUPPORT };
  const v3 = buildOpenApi(kinds, options);
  const v2 = buildOpenApiV2(kinds, options);
  return (request) => {
    const { belowRoot, path, query } = request.info;
    if (!belowRoot || !path.startsWith('/openapi/')) return undefined;
    const accept = header(request, 'accept');
    if (path === '/openapi/v2') return ready(request, v2(negotiateOpenApiV2(accept)));
    requireJson(accept);
    if (path === '/openapi/v3') return ready(request, v3.index());
    const document = v3.document(path.slice('/openapi/v3/'.length));
    const asked = query.get('hash');
    if (document === undefined || asked === null) return ready(request, document);
    if (asked === document.hash) return ready(request, document, FOREVER);
    return { ...textAnswer('', 301), headers: { location: document.url } };
  };
}

/** 304 if the client has this version. Throws 404 for a missing document. */
function ready(
  request: ApiRequest,
  document: ReadyDocument | undefined,
  cacheControl = 'public',
): Answer {
  if (document === undefined) throw noSuchRoute();
  const headers = { etag: document.etag, vary: 'Accept', 'cache-control': cacheControl };
  const { contentType, body } = document;
  return isNotModified(header(request, 'if-none-match'), document)
    ? { code: 304, contentType, body: '', headers }
    : { code: 200, contentType, body, headers };
}

/** Throws 404 for a document that the table of operations does not have. */
function refuseUndocumented({ info }: ApiRequest): undefined {
  if (!isDocumented(info.verb, info.path)) throw noSuchRoute();
}

function wholeApiDocument(deps: ServerDependencies, kinds: KindTable): Document {
  const options = { root: deps.root, version: deps.version, ...PATCH_SUPPORT };
  const document = memoized(() => encodedApi(kinds, options));
  return (request) =>
    request.info.path === OPENAPI_PATH ? ready(request, document(undefined)) : undefined;
}

function metrics(deps: ServerDependencies): Document {
  const { registry } = deps.metrics;
  const read = async (): Promise<Answer> => ({
    code: 200,
    contentType: registry.contentType,
    body: await deps.metrics.scrape(),
  });
  return ({ info }) => (info.path === '/metrics' ? read() : undefined);
}

const SCHEMA_PATH = /^\/schemas\/([\w-]+)\.json$/;

/** The schemas as editors and validators fetch them. */
function schemas({ info }: ApiRequest): Answer | undefined {
  if (info.path === '/schemas') return jsonAnswer(schemaNames().map((name) => `${name}.json`));
  const name = SCHEMA_PATH.exec(info.path)?.[1];
  if (name === undefined || !schemaNames().includes(name)) return undefined;
  const body = JSON.stringify(schemaDocument(name), null, 2);
  return { code: 200, contentType: 'application/schema+json', body };
}
