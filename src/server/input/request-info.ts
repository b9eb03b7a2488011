/**
 * The meaning of a request from its method and URL alone (`RequestInfo` of kube-apiserver), shared by
 * authorization, audit and routes. It does not depend on the kinds that exist.
 */
import { parseFieldSelector, pathSegmentProblems } from '../../apimachinery/index.ts';

export interface RequestLine {
  readonly method: string;
  /** Origin form, as it stands in the request line: `/path?query`. */
  readonly url: string;
  /** Path of the Kubernetes API: `/kubernetes/management`. No trailing slash. */
  readonly root: string;
}

interface CommonInfo {
  /** Decoded, without trailing slash; relative to the root where `belowRoot` is set. */
  readonly path: string;
  readonly belowRoot: boolean;
  readonly query: URLSearchParams;
}

export interface PathInfo extends CommonInfo {
  readonly isResource: false;
  /** HTTP method in lower case: the verb of non-resource URLs in authorization. */
  readonly verb: string;
}

export interface ResourceInfo extends CommonInfo {
  readonly isResource: true;
  /** A verb of the API, or empty where the method has none. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Path after the name: `status`; empty: none. */
  readonly subresource: string;
  readonly namespace: string;
  /** From the path; empty for a collection. */
  readonly name: string;
  /**
   * The name that `fieldSelector=metadata.name=x` demands of a list, watch or deletecollection.
   * Such a request is authorized as one for that name.
   */
  readonly selectedName: string;
  readonly isWatch: boolean;
}

export type RequestInfo = PathInfo | ResourceInfo;

const VERB_OF_METHOD: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
/** The verbs of a whole collection. */
const VERBS_WITH_SELECTORS = ['list', 'watch', 'deletecollection'];
/** Segments after `/namespaces/<name>/` that are subresources and not namespaced resources. */
const NAMESPACE_SUBRESOURCES = ['status', 'finalize'];

/**
 * Undefined for a URL that no route may answer: one that could be read in two ways (encoded
 * slashes or percent signs, `.`, `..`, empty segments, control characters, bad encoding).
 */
export function parseRequest({ method, url, root }: RequestLine): RequestInfo | undefined {
  const mark = url.indexOf('?');
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  const all = splitPath(mark < 0 ? url : url.slice(0, mark));
  if (all === undefined) return undefined;
  const rootSegments = root.split('/').slice(1);
  const belowRoot = rootSegments.every((segment, i) => all[i] === segment);
  const segments = belowRoot ? all.slice(rootSegments.length) : all;
  const path = `/${segments.join('/')}`;
  const resource = belowRoot ? resourcePath(segments) : undefined;
  if (resource === undefined) {
    return { isResource: false, path, belowRoot, query, verb: method.toLowerCase() };
  }
  return readResource(resource, method, { path, belowRoot, query });
}

/** Paths that need no decoding; dots and empty segments are checked later. */
const PLAIN_PATH = /^\/[\w\-.~:@!$&'()*+,;=/]*$/;

/** The decoded segments, without the empty one behind a trailing slash. */
function splitPath(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined;
  const raw = path.slice(1, path.endsWith('/') ? -1 : undefined).split('/');
  if (raw.length === 1 && raw[0] === '') return path.length > 2 ? undefined : [];
  const segments = PLAIN_PATH.test(path) ? raw : raw.map(decodeSegment);
  return segments.every(isSafeSegment) ? segments : undefined;
}

function decodeSegment(raw: string): string | undefined {
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
}

const UNSAFE = /[/%\\\p{Cc}]/u;

function isSafeSegment(segment: string | undefined): segment is string {
  if (segment === undefined || segment === '' || segment === '.' || segment === '..') return false;
  return !UNSAFE.test(segment);
}

interface ResourcePath {
  readonly group: string;
  readonly version: string;
  /** `[resource, name, subresource…]`, perhaps behind `namespaces/<namespace>` or `watch`. */
  readonly rest: readonly string[];
}

function resourcePath(segments: readonly string[]): ResourcePath | undefined {
  const [prefix, first = '', second = ''] = segments;
  if (prefix === 'api' && segments.length >= 3) {
    return { group: '', version: first, rest: segments.slice(2) };
  }
  if (prefix === 'apis' && segments.length >= 4) {
    return { group: first, version: second, rest: segments.slice(3) };
  }
  return undefined;
}

/** Copies field by field: spreading costs more than the rest of the parsing. */
function readResource(path: ResourcePath, method: string, common: CommonInfo): ResourceInfo {
  const { query } = common;
  const isRead = method === 'GET' || method === 'HEAD';
  const watchPrefix = isRead && path.rest[0] === 'watch' && path.rest.length > 1;
  const { namespace, parts } = splitNamespace(watchPrefix ? path.rest.slice(1) : path.rest);
  const [resource = '', name = '', ...behind] = parts;
  const verb = watchPrefix ? 'watch' : verbOf(method, name, query);
  const selects = !watchPrefix && VERBS_WITH_SELECTORS.includes(verb);
  return {
    isResource: true,
    path: common.path,
    belowRoot: common.belowRoot,
    query,
    verb,
    group: path.group,
    version: path.version,
    resource,
    subresource: behind.join('/'),
    namespace,
    name,
    selectedName: selects ? nameSelectedBy(query) : '',
    isWatch: verb === 'watch',
  };
}

function splitNamespace(rest: readonly string[]): { namespace: string; parts: readonly string[] } {
  const [first, namespace = '', third] = rest;
  if (first !== 'namespaces') return { namespace: '', parts: rest };
  const ofNamespace = third === undefined || NAMESPACE_SUBRESOURCES.includes(third);
  return { namespace, parts: ofNamespace ? rest : rest.slice(2) };
}

function verbOf(method: string, name: string, query: URLSearchParams): string {
  const verb = VERB_OF_METHOD[method] ?? '';
  if (name !== '') return verb;
  if (verb === 'get') return queryFlag(query, 'watch') === true ? 'watch' : 'list';
  return verb === 'delete' ? 'deletecollection' : verb;
}

/** Kubernetes' reading of a boolean parameter: whatever is not `0` or `false` is true. */
export function queryFlag(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name)?.toLowerCase();
  return value === undefined ? undefined : value !== '0' && value !== 'false';
}

/** Empty when the selector demands no single name, or does not parse (the handler says so). */
function nameSelectedBy(query: URLSearchParams): string {
  const text = query.get('fieldSelector') ?? '';
  if (!text.includes('metadata.name')) return '';
  const fields = [...text.matchAll(/(?:^|,)([^=!,\\]+)/g)].map(([, field = '']) => field);
  try {
    const name = parseFieldSelector(text, fields).name ?? '';
    return pathSegmentProblems(name).length > 0 ? '' : name;
  } catch {
    return '';
  }
}
