/** What is served side by side: the platform, and clusters of its tenants, each below a root of its own. */
import type { IncomingHttpHeaders } from 'node:http';
import { memoize } from '../apimachinery/index.ts';
import type { Authenticate, ClusterRoot, ServerDependencies } from './dependencies.ts';
import { buildClusterDocuments, buildDocuments, type Documents } from './documents/documents.ts';
import { isPublic, plainToken } from './filters/access.ts';
import { parseRequest, type RequestInfo } from './input/request-info.ts';
import type { Answer } from './output/answer.ts';
import type { ApiRequest } from './request.ts';
import { answerObjects, answerResource, type ResourceAnswerer } from './routes/resources.ts';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export interface ApiRoot {
  readonly deps: ServerDependencies;
  /** Undefined for what no route may answer. */
  read(method: string, url: string): RequestInfo | undefined;
  /** Whether strangers may ask. */
  isPublic(info: RequestInfo): boolean;
  /** Work before a request can be authenticated; undefined: none. Never rejects. */
  prepare?(headers: IncomingHttpHeaders): Promise<void> | undefined;
  /** Undefined: the handler answers for itself, over time. */
  answer(request: ApiRequest): Answer | Promise<Answer | undefined>;
}

export interface ApiRoots {
  readonly platform: ApiRoot;
  /** The surface that a URL leads to. */
  surfaceOf(url: string): ApiRoot;
}

export function buildApiRoots(deps: ServerDependencies): ApiRoots {
  const platform = surface(deps, {
    documents: buildDocuments(deps),
    objects: answerResource,
    isPublic: (info) => isPublic(info, deps),
  });
  const clusters = new WeakMap<ClusterRoot, ApiRoot>();
  const surfaceOf = (url: string): ApiRoot => {
    const cluster = deps.clusters.find(url);
    if (cluster === undefined) return platform;
    const found = clusters.get(cluster) ?? clusterSurface({ ...deps, ...cluster });
    clusters.set(cluster, found);
    return found;
  };
  return { platform, surfaceOf };
}

/** Which clusters there are is not for strangers, so nothing of a cluster is public. */
function clusterSurface(cluster: ServerDependencies): ApiRoot {
  const { tokenHolders } = cluster;
  const authenticate: Authenticate = (token) =>
    tokenHolders?.authenticate(token) ?? cluster.authenticate(token);
  const deps = { ...cluster, authenticate };
  const documents = buildClusterDocuments(deps);
  return {
    ...surface(deps, { documents, objects: answerObjects, isPublic: () => false }),
    prepare: (headers) => {
      const token = tokenHolders && plainToken(headers);
      return token === undefined ? undefined : tokenHolders?.prepare(token);
    },
  };
}

/** URLs of a method whose reading is kept: controllers ask for the same things again and again. */
export const MOST_URLS = 1024;

function surface(
  deps: ServerDependencies,
  { documents, objects, isPublic }: SurfaceParts,
): ApiRoot {
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
    answer: (request) => {
      const { info } = request;
      return info.isResource ? objects(deps, request, info) : documents(request);
    },
  };
}

interface SurfaceParts extends Pick<ApiRoot, 'isPublic'> {
  readonly documents: Documents;
  readonly objects: ResourceAnswerer;
}
