/** What patches know of the tenant cluster whose objects they change. Plain data. */
import type { JsonObject } from '../apimachinery/object.ts';
import type { Patch } from './settings.ts';

export interface TenantCluster {
  readonly name: string;
  /** On the control-plane cluster: where the tenant runs and where its objects go. */
  readonly namespace: string;
  /** The effective configuration, for `context.vcluster.config`. */
  readonly config: JsonObject;
  /** Single: all objects share `namespace`, so names change. Multi: each namespace has its own. */
  readonly mode: 'single' | 'multi';
  /** Multi-namespace mode: tenant namespace to control-plane namespace, `*` standing for a part. */
  readonly namespaces?: Readonly<Record<string, string>>;
  /** Namespaces without a mapping are left alone, not translated as in single-namespace mode. */
  readonly mappingsOnly?: boolean;
  /** How references to kinds of Kubernetes are named: `v…`, or `name-x-namespace-x-tenant`. */
  readonly referenceNames: 'short' | 'concat';
}

/** A tenant with its patches, `sync.toHost.endpoints.patches`. */
export interface PatchedTenant {
  readonly tenant: TenantCluster;
  readonly patches: readonly Patch[];
}
