/** Client of the API for browsers and Node, over `fetch`. It knows no page and no DOM. */
import type {
  Blame,
  CommitPage,
  HistoryPage,
  KubeObject,
  Moment,
  ObjectList,
  ObjectRef,
  ObjectSource,
  Resource,
  Status,
  SyncStatus,
  Table,
  WritePreview,
} from './objects.ts';
import type { Comparison } from './plan.ts';
import type { SearchResult, Summary } from './summary.ts';

export interface ClientOptions {
  /** Prefix of every URL; empty in a browser, which asks its own host. */
  readonly base?: string;
  /** API root: `/kubernetes/management`. */
  readonly root: string;
  readonly fetch?: typeof fetch;
  /** Headers of every request: `authorization` for programs. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the session of a browser: proof that a page of the host asks for a change. */
  readonly csrfToken?: string;
  /** Called when the session is over. */
  readonly onUnauthorized?: () => void;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Ask {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly query?: Query;
  readonly accept?: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** A refusal of the API. */
export class ApiError extends Error {
  readonly code: number;
  readonly status: Status;

  constructor(code: number, status: Status) {
    super(status.message ?? `The server answered ${code}`);
    this.name = 'ApiError';
    this.code = code;
    this.status = status;
  }
}

/** The server could not be reached. */
export class ConnectionError extends Error {
  constructor(message: string, options: { readonly cause: unknown }) {
    super(message, options);
    this.name = 'ConnectionError';
  }
}

export interface ListOptions extends Moment {
  readonly namespace?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const YAML = 'application/yaml';
/** Delays before the second and the third attempt. */
const RETRY_DELAYS_MS = [300, 1000];

export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Path of a collection. */
  pathOf({ group, version, name }: Resource, namespace?: string): string {
    const { root } = this.#options;
    const api = group === '' ? `${root}/api/${version}` : `${root}/apis/${group}/${version}`;
    return namespace
      ? `${api}/namespaces/${encodeURIComponent(namespace)}/${name}`
      : `${api}/${name}`;
  }

  objectPath(resource: Resource, { namespace, name }: ObjectRef): string {
    return `${this.pathOf(resource, namespace)}/${encodeURIComponent(name)}`;
  }

  /**
   * Sends a request, again if no answer comes: browsers drop connections when a network interface
   * changes. The idempotency key makes a repeated write one commit. Throws ApiError for a refusal and
   * ConnectionError without an answer.
   */
  async send(path: string, ask: Ask = {}): Promise<Response> {
    const { base = '', csrfToken, onUnauthorized } = this.#options;
    const { method = 'GET', signal } = ask;
    const isChange = method !== 'GET';
    const headers: Record<string, string> = {
      accept: ask.accept ?? 'application/json',
      ...this.#options.headers,
      ...ask.headers,
      ...(isChange ? { 'idempotency-key': randomKey() } : {}),
      ...(isChange && csrfToken !== undefined ? { 'x-csrf-token': csrfToken } : {}),
      ...(ask.body === undefined ? {} : { 'content-type': ask.contentType ?? 'application/json' }),
    };
    const body = bodyOf(ask.body);
    const response = await this.#fetched(`${base}${path}${queryOf(ask.query)}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.ok) return response;
    if (response.status === 401) onUnauthorized?.();
    throw new ApiError(response.status, await statusOf(response));
  }

  async #fetched(url: string, init: RequestInit): Promise<Response> {
    const request = this.#options.fetch ?? globalThis.fetch;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await request(url, init);
      } catch (error) {
        if (init.signal?.aborted === true) throw error;
        const delay = RETRY_DELAYS_MS[attempt];
        if (delay === undefined) {
          throw new ConnectionError('The server cannot be reached', { cause: error });
        }
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    }
  }

  /** The answer as JSON. `T` is what the API documents for the path. */
  async json<T>(path: string, ask?: Ask): Promise<T> {
    const response = await this.send(path, ask);
    return (await response.json()) as T;
  }

  async get(
    resource: Resource,
    ref: ObjectRef,
    at: Moment & { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<KubeObject> {
    const { signal, ...query } = at;
    return await this.json(this.objectPath(resource, ref), { query, signal });
  }

  async getYaml(resource: Resource, ref: ObjectRef, at: Moment = {}): Promise<string> {
    const path = this.objectPath(resource, ref);
    const response = await this.send(path, { query: { ...at }, accept: YAML });
    return await response.text();
  }

  async list(resource: Resource, options: ListOptions = {}): Promise<ObjectList> {
    const { namespace, signal, ...query } = options;
    return await this.json(this.pathOf(resource, namespace), { query, signal });
  }

  async table(resource: Resource, options: ListOptions = {}): Promise<Table> {
    const { namespace, signal, ...query } = options;
    const path = this.pathOf(resource, namespace);
    return await this.json(path, { query, signal, accept: TABLE });
  }

  /** Replaces an object. `dryRun`: nothing is written. */
  async replace(
    resource: Resource,
    ref: ObjectRef,
    of: WriteOptions & { readonly body: string; readonly contentType: string },
  ): Promise<Response> {
    const { body, contentType } = of;
    const path = this.objectPath(resource, ref);
    return await this.send(path, { ...writing(of), method: 'PUT', body, contentType });
  }

  async delete(resource: Resource, ref: ObjectRef, options: WriteOptions = {}): Promise<void> {
    await this.send(this.objectPath(resource, ref), { ...writing(options), method: 'DELETE' });
  }

  async history(
    resource: Resource,
    ref: ObjectRef,
    query: { readonly limit?: number; readonly continue?: string } = {},
  ): Promise<HistoryPage> {
    return await this.json(`${this.objectPath(resource, ref)}/history`, { query });
  }

  async source(resource: Resource, ref: ObjectRef, at: Moment = {}): Promise<ObjectSource> {
    return await this.json(`${this.objectPath(resource, ref)}/source`, { query: { ...at } });
  }

  async blame(resource: Resource, ref: ObjectRef): Promise<Blame> {
    return await this.json(`${this.objectPath(resource, ref)}/blame`);
  }

  /** Makes an object what it was at a commit. */
  async rollback(resource: Resource, ref: ObjectRef, of: Rollback): Promise<KubeObject> {
    return await this.json(...this.#rollback(resource, ref, of));
  }

  /** The result of a rollback, without writing. */
  async previewRollback(resource: Resource, ref: ObjectRef, of: Rollback): Promise<WritePreview> {
    const [path, ask] = this.#rollback(resource, ref, of);
    return await this.json(path, { ...ask, query: { ...ask.query, ...PREVIEW } });
  }

  #rollback(resource: Resource, ref: ObjectRef, { force, ...body }: Rollback): [string, Ask] {
    const path = `${this.objectPath(resource, ref)}/rollback`;
    return [path, { method: 'POST', body, query: { force } }];
  }

  /** Changes an object by operations of JSON Patch (RFC 6902). */
  async patch(
    resource: Resource,
    ref: ObjectRef,
    of: { readonly operations: readonly object[]; readonly reason?: string },
  ): Promise<KubeObject> {
    const path = this.objectPath(resource, ref);
    return await this.json(path, { ...writing(of), ...patchOf(of.operations) });
  }

  /** The result of a patch, without writing. */
  async previewPatch(
    resource: Resource,
    ref: ObjectRef,
    operations: readonly object[],
  ): Promise<WritePreview> {
    const path = this.objectPath(resource, ref);
    return await this.json(path, { query: PREVIEW, ...patchOf(operations) });
  }

  async commits(
    query: Moment & {
      readonly limit?: number;
      readonly continue?: string | undefined;
      /** Only commits that changed the team or what it owns. */
      readonly team?: string | undefined;
    } = {},
  ): Promise<CommitPage> {
    return await this.json('/commits', { query: { ...query } });
  }

  /** Objects that differ between two moments: commits or times. Without `to`: the present. */
  async compare(of: {
    readonly from: string;
    readonly to?: string | undefined;
    readonly signal?: AbortSignal;
  }): Promise<Comparison> {
    const { signal, ...query } = of;
    return await this.json('/compare', { query, signal });
  }

  async sync(signal?: AbortSignal): Promise<SyncStatus> {
    return await this.json('/sync', { signal });
  }

  /** `since`: waits until the summary differs from the one with this version. */
  async summary(
    of: Moment & {
      readonly since?: string | undefined;
      readonly signal?: AbortSignal | undefined;
    } = {},
  ): Promise<Summary> {
    const { since, signal, ...moment } = of;
    const query = since === undefined ? { ...moment } : { since, timeout: '30s' };
    return await this.json('/summary', { query, signal });
  }

  async search(text: string, limit: number, signal?: AbortSignal): Promise<SearchResult> {
    return await this.json('/search', { query: { q: text, limit }, signal });
  }

  /** Approves a held revision. */
  async approve(revision: string, reason: string): Promise<SyncStatus> {
    return await this.json('/sync/approve', { method: 'POST', body: { revision, reason } });
  }

  /** Every kind that the API serves. */
  async discover(): Promise<readonly Resource[]> {
    const { root } = this.#options;
    const accept = DISCOVERY;
    const [core, groups] = await Promise.all(
      [`${root}/api`, `${root}/apis`].map((path) => this.json<Discovery>(path, { accept })),
    );
    return [...resourcesOf(core), ...resourcesOf(groups)];
  }
}

export interface Rollback {
  readonly revision: string;
  readonly reason?: string | undefined;
  /** Goes on from the last good version where the manifest in git is not valid. */
  readonly force?: boolean | undefined;
}

function patchOf(body: readonly object[]): Pick<Ask, 'method' | 'body' | 'contentType'> {
  return { method: 'PATCH', body, contentType: 'application/json-patch+json' };
}

export interface WriteOptions {
  readonly dryRun?: boolean;
  /** Goes into the commit. */
  readonly reason?: string | undefined;
}

/** A dry run that shows the file, and the objects that change. */
const PREVIEW = { dryRun: 'All', show: 'file,effect' };

/** Query and headers of a write. */
export function writing({
  dryRun = false,
  reason = '',
}: WriteOptions): Pick<Ask, 'query' | 'headers'> {
  return {
    query: dryRun ? { dryRun: 'All' } : {},
    headers: reason === '' ? {} : { 'gitplane-reason': utf8Header(reason) },
  };
}

/** A header holds bytes: those of UTF-8. */
function utf8Header(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

const DISCOVERY = 'application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io';

interface Discovery {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources: readonly {
        readonly resource: string;
        readonly responseKind: { readonly kind: string };
        readonly scope: string;
        readonly verbs: readonly string[];
        readonly subresources?: readonly { readonly subresource: string }[];
      }[];
    }[];
  }[];
}

function resourcesOf(discovery: Discovery | undefined): Resource[] {
  return (discovery?.items ?? []).flatMap(({ metadata, versions }) =>
    versions.slice(0, 1).flatMap(({ version, resources }) =>
      resources.map(({ resource, responseKind, scope, verbs, subresources = [] }) => ({
        group: metadata?.name ?? '',
        version,
        name: resource,
        kind: responseKind.kind,
        namespaced: scope === 'Namespaced',
        verbs,
        subresources: subresources.map(({ subresource }) => subresource),
      })),
    ),
  );
}

/** Also where the page came by plain HTTP, without `crypto.randomUUID`. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function bodyOf(body: unknown): string | undefined {
  return body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
}

function queryOf(query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const pairs = given.map(([name, value]): [string, string] => [name, String(value)]);
  const text = new URLSearchParams(pairs).toString();
  return text === '' ? '' : `?${text}`;
}

async function statusOf(response: Response): Promise<Status> {
  const text = await response.text().catch(() => '');
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return text === '' ? {} : { message: text.trim().slice(0, 500) };
  }
}
