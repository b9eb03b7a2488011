/** Client of the API for browsers and Node, over `fetch`. It knows no page and no DOM. */
import { ApiClient, type Ask, type ClientOptions } from '../../client/index.ts';
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
  SyncStatus,
  Table,
  WritePreview,
} from './objects.ts';
import type { Comparison } from './plan.ts';
import type { SearchResult, Summary } from './summary.ts';

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
const DEFAULT_ROOT = '/kubernetes/management';

export class Client {
  /** Documents, with the types of the OpenAPI document. */
  readonly api: ApiClient;
  readonly #root: string;

  constructor(options: ClientOptions) {
    this.api = new ApiClient(options);
    this.#root = options.root ?? DEFAULT_ROOT;
  }

  /** Path of a collection. */
  pathOf(
    { group, version, name }: Pick<Resource, 'group' | 'version' | 'name'>,
    namespace?: string,
  ): string {
    const root = this.#root;
    const api = group === '' ? `${root}/api/${version}` : `${root}/apis/${group}/${version}`;
    return namespace
      ? `${api}/namespaces/${encodeURIComponent(namespace)}/${name}`
      : `${api}/${name}`;
  }

  objectPath(resource: Resource, { namespace, name }: ObjectRef): string {
    return `${this.pathOf(resource, namespace)}/${encodeURIComponent(name)}`;
  }

  /** Throws ApiError for a refusal and ConnectionError without an answer. */
  async send(path: string, ask?: Ask): Promise<Response> {
    return await this.api.transport.send(path, ask);
  }

  /** The answer as JSON. `T` is what the API documents for the path. */
  async json<T>(path: string, ask?: Ask): Promise<T> {
    return await this.api.transport.json(path, ask);
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
  async previewRollback(
    resource: Resource,
    ref: ObjectRef,
    of: { readonly rollback: Rollback; readonly mayClone: boolean },
  ): Promise<WritePreview> {
    const [path, ask] = this.#rollback(resource, ref, of.rollback);
    return await this.json(path, { ...ask, query: { ...ask.query, ...preview(of.mayClone) } });
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
    of: { readonly operations: readonly object[]; readonly mayClone: boolean },
  ): Promise<WritePreview> {
    const path = this.objectPath(resource, ref);
    return await this.json(path, { query: preview(of.mayClone), ...patchOf(of.operations) });
  }

  async commits(
    query: Moment & {
      readonly limit?: number;
      readonly continue?: string | undefined;
      /** Only commits that changed the team or what it owns. */
      readonly team?: string | undefined;
    } = {},
  ): Promise<CommitPage> {
    return await this.api.get('/commits', { query });
  }

  /** Objects that differ between two moments: commits or times. Without `to`: the present. */
  async compare(of: {
    readonly from: string;
    readonly to?: string | undefined;
    readonly signal?: AbortSignal;
  }): Promise<Comparison> {
    const { signal, ...query } = of;
    return await this.api.get('/compare', { query, signal });
  }

  async sync(signal?: AbortSignal): Promise<SyncStatus> {
    return await this.api.get('/sync', { signal });
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
    return await this.api.get('/summary', { query, signal });
  }

  async search(text: string, limit: number, signal?: AbortSignal): Promise<SearchResult> {
    return await this.api.get('/search', { query: { q: text, limit }, signal });
  }

  /** Approves a held revision. */
  async approve(revision: string, reason: string): Promise<SyncStatus> {
    return await this.api.post('/sync/approve', { body: { revision, reason } });
  }

  /** Every kind that the API serves. */
  async discover(): Promise<readonly Resource[]> {
    const root = this.#root;
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

/** Query of a dry run that shows the objects that change, and the file to those who may clone. */
export function preview(mayClone: boolean): Readonly<Record<string, string>> {
  return { dryRun: 'All', show: mayClone ? 'file,effect' : 'effect' };
}

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
