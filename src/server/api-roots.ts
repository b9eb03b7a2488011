/** API roots served side by side: the platform, and clusters of its tenants. */
import { memoize } from '../apimachinery/index.ts';
import type { Authenticate, ClusterRoot, ServerDependencies } from './dependencies.ts';
import { buildClusterDocuments, buildDocuments, type Documents } from './documents/documents.ts';
import type { ApiRoot } from './exchange.ts';
import { plainToken } from './filters/access.ts';
import { parseRequest, type RequestInfo } from './input/request-info.ts';
import { CLUSTER_OBJECTS, type KindSource, platformKinds, refusalOf } from './routes/resources.ts';

/** Words of paths below the prefix of the clusters; followed by the name of one. */
const CLUSTER_TYPES = ['virtualcluster', 'cluster'];

/** Documents without data, and health checks for load balancers. */
const PUBLIC_PATHS = [
  /^\/(healthz|livez|readyz)(\/|$)/,
  /^\/schemas(\/|$)/,
  /^\/openapi(\.json$|\/v[23](\/|$))/,
  /^\/apis?$/,
  /^\/apis\/[^/]+(\/[^/]+)?$/,
  /^\/api\/v1$/,
  /^\/(ui\/settings|auth\/info)$/,
  /^\/\.well-known\/(jwks\.json|openid-configuration)$/,
];

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export interface ApiRoots {
  readonly platform: ApiRoot;
  /** The API root that a URL leads to. */
  rootOf(url: string): ApiRoot;
}

export function buildApiRoots(deps: ServerDependencies): ApiRoots {
  const platform = buildRoot(deps, {
    documents: buildDocuments(deps),
    kinds: platformKinds(deps),
    isPublic: (info) => isPublic(info, deps),
  });
  const absent = { ...platform, ...withTokens(deps) };
  const isBelowClusters = (url: string): boolean =>
    CLUSTER_TYPES.some((type) => url.startsWith(`${deps.clusters.prefix}/${type}/`));
  const clusters = new WeakMap<ClusterRoot, ApiRoot>();
  const rootOf = (url: string): ApiRoot => {
    const cluster = deps.clusters.find(url);
    if (cluster === undefined) return isBelowClusters(url) ? absent : platform;
    const found = clusters.get(cluster) ?? buildClusterRoot(deps, cluster, absent);
    clusters.set(cluster, found);
    return found;
  };
  return { platform, rootOf };
}

function isPublic(info: RequestInfo, deps: ServerDependencies): boolean {
  if (info.isResource) return false;
  if (info.path === '/version') return deps.config.current.authenticateVersionEndpoint !== true;
  return PUBLIC_PATHS.some((pattern) => pattern.test(info.path));
}

/**
 * Nothing of a cluster is public: the names of the clusters are not. A request of a user who may do nothing
 * in a cluster gets the answer of one that does not exist.
 */
function buildClusterRoot(
  platform: ServerDependencies,
  cluster: ClusterRoot,
  absent: ApiRoot,
): ApiRoot {
  const { deps, prepare } = withTokens({ ...platform, ...cluster });
  const documents = buildClusterDocuments(deps);
  return {
    ...buildRoot(deps, { documents, kinds: CLUSTER_OBJECTS, isPublic: () => false }),
    prepare,
    hidden: { isFrom: (user) => cluster.isHiddenFrom(user), behind: absent },
  };
}

/** Authentication below the paths of clusters, which takes endpoint tokens too. */
function withTokens(given: ServerDependencies): Required<Pick<ApiRoot, 'deps' | 'prepare'>> {
  const { tokenHolders } = given;
  const authenticate: Authenticate = (token) =>
    tokenHolders?.authenticate(token) ?? given.authenticate(token);
  return {
    deps: { ...given, authenticate },
    prepare: (headers) => {
      const token = tokenHolders && plainToken(headers);
      return token === undefined ? undefined : tokenHolders?.prepare(token);
    },
  };
}

/** Number of URLs per method whose parsed form is memoized: controllers repeat their requests. */
export const MOST_URLS = 1024;

interface RootParts extends Pick<ApiRoot, 'isPublic'> {
  readonly documents: Documents;
  readonly kinds: readonly KindSource[];
}

function buildRoot(deps: ServerDependencies, parts: RootParts): ApiRoot {
  const { documents, kinds, isPublic } = parts;
  const { root } = deps;
  const readers = new Map<string, (url: string) => RequestInfo | undefined>(
    METHODS.map((method) => [
      method,
      memoize(MOST_URLS, (url) => parseRequest({ method, url, root })),
    ]),
  );
  return {
    deps,
    read: (method, url) => readers.get(method)?.(url),
    isPublic,
    other: (request) => {
      const { info } = request;
      if (info.isResource) throw refusalOf(kinds, info);
      return documents(request);
    },
  };
}
