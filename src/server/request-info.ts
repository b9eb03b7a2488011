/**
 * What a request asks for, read from its method and URL alone (apiserver `RequestInfo`): the words
 * that authorization, audit and routing share. Nothing here knows which kinds exist.
 */
import { pathSegmentProblems } from '../apimachinery/names.ts';
import { parseFieldSelector } from '../apimachinery/selectors.ts';

export interface RequestLine {
  readonly method: string;
  /** Origin form, as it stands in the request line: `/path?query`. */
  readonly url: string;
  /** Where the Kubernetes API lives: `/kubernetes/management`. No trailing slash. */
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
  /** The HTTP method in lower case, as authorization of non-resource URLs wants it. */
  readonly verb: string;
}

export interface ResourceInfo extends CommonInfo {
  readonly isResource: true;
  /** A verb of the API, or empty where the method has none. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Everything behind the name: `status`; empty where nothing follows. */
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
/** What `/namespaces/<name>/…` may be followed by without naming a namespaced resource. */
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
  const common = { path: `/${segments.join('/')}`, belowRoot, query };
  const resource = belowRoot ? resourcePath(segments) : undefined;
  if (resource === undefined) return { ...common, isResource: false, verb: method.toLowerCase() };
  return { ...common, isResource: true, ...readResource(resource, method, query) };
}

/** The decoded segments, without the empty one behind a trailing slash. */
function splitPath(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined;
  const raw = (path.endsWith('/') ? path.slice(0, -1) : path).split('/').slice(1);
  const segments = raw.map(decodeSegment);
  return segments.includes(undefined) ? undefined : (segments as string[]);
}

function decodeSegment(raw: string): string | undefined {
  let segment: string;
  try {
    segment = decodeURIComponent(raw);
  } catch {
    return undefined;
  }
  const unsafe = segment === '' || hasControlCharacter(segment) || segment.includes('\\');
  return unsafe || pathSegmentProblems(segment).length > 0 ? undefined : segment;
}

function hasControlCharacter(text: string): boolean {
  return /\p{Cc}/u.test(text);
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

type ResourceFields = Omit<ResourceInfo, keyof CommonInfo | 'isResource'>;

function readResource(path: ResourcePath, method: string, query: URLSearchParams): ResourceFields {
  const isRead = method === 'GET' || method === 'HEAD';
  const watchPrefix = isRead && path.rest[0] === 'watch' && path.rest.length > 1;
  const { namespace, parts } = splitNamespace(watchPrefix ? path.rest.slice(1) : path.rest);
  const [resource = '', name = '', ...behind] = parts;
  const verb = watchPrefix ? 'watch' : verbOf(method, name, query);
  const selects = !watchPrefix && VERBS_WITH_SELECTORS.includes(verb);
  return {
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
