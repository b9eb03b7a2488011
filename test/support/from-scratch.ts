/**
 * What the control-plane cluster has to have of a tenant, computed anew from what is in the tenant
 * cluster: no loop, no memory, and expressions that V8 runs instead of the sandbox.
 */
import type { JsonObject, JsonValue, KubeObject } from '../../src/apimachinery/object.ts';
import { expressionBody } from '../../src/endpoint-patches/expressions/syntax.ts';
import { compilePatches } from '../../src/endpoint-patches/program.ts';
import { runPatches } from '../../src/endpoint-patches/run.ts';
import type { PatchedTenant } from '../../src/endpoint-patches/tenant.ts';
import { notSynced, translateEndpoints, withMarks } from '../../src/tenant-sync/translate.ts';

export interface TenantContent {
  readonly endpoints: readonly KubeObject[];
  readonly services: readonly KubeObject[];
}

/** In the form of `contentOf`. */
export function fromScratch(
  { tenant, patches }: PatchedTenant,
  { endpoints, services }: TenantContent,
): object[] {
  const program = compilePatches({ tenant, patches });
  const { name, namespace, config } = tenant;
  const context = { vcluster: { name, namespace, config } };
  const evaluate = (of: { patch: number; values: readonly JsonValue[] }) => {
    const text = expressionBody(patches[of.patch]?.expression ?? '');
    const run = new Function('value', 'context', `return (${text}\n)`);
    return of.values.map((value) => run(value, context) ?? undefined);
  };
  const byName = new Map(services.map((service) => [service.metadata.name, service]));
  return endpoints.flatMap((item) => {
    const source = { namespace: 'default', name: item.metadata.name ?? '' };
    const service = byName.get(source.name);
    if (notSynced(source, { object: item, service }) !== undefined) return [];
    const object = translateEndpoints(item, tenant) as unknown as JsonObject;
    const virtualObject = item as unknown as JsonObject;
    const request = { object, direction: 'forward', virtualObject } as const;
    const outcome = runPatches(program, request, { fuel: 0, evaluate });
    if (outcome.object === undefined) throw new Error(JSON.stringify(outcome.report));
    return [contentOf(withMarks(outcome.object, item, tenant))];
  });
}

/** What the sync decides of an object. */
export function contentOf({ metadata, ...rest }: KubeObject): object {
  const { name, namespace, labels = {}, annotations = {} } = metadata;
  return { name, namespace, labels, annotations, subsets: rest['subsets'] };
}

/** As texts that can be compared, in whatever order they and their keys come. */
export function inOrder(objects: readonly object[]): string[] {
  return objects.map((object) => JSON.stringify(deepSorted(object))).sort();
}

function deepSorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(deepSorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, deepSorted(item)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
