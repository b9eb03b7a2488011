/** Dry run of the patches on given objects, without a cluster. */
import jsonPatch, { type Operation } from 'fast-json-patch';
import type { JsonObject, KubeObject } from '../apimachinery/index.ts';
import { compilePatches, type PatchReport, type SyncedTenant } from '../endpoint-patches/index.ts';
import type { PatchRunner } from './reconcile-object.ts';
import { SYNCED_KINDS } from './synced-kinds.ts';
import { withMarks } from './translate.ts';

export interface PreviewRequest {
  /** As in the tenant cluster. */
  readonly objects: readonly KubeObject[];
  /** A valid vcluster.yaml to use instead of that of the tenant. */
  readonly config: JsonObject | undefined;
}

export interface Previewed {
  /** Translated, before the patches. */
  readonly before: KubeObject;
  /** Absent: a patch failed, and nothing would be written. */
  readonly after?: KubeObject;
  /** From `before` to `after`, as a JSON Patch (RFC 6902). Absent where it has more than 200 steps. */
  readonly patch?: readonly Operation[];
  readonly report: PatchReport;
}

/** A longer patch is harder to read than both objects. */
const MOST_STEPS = 200;

export async function previewPatches(
  runner: PatchRunner,
  { tenant, patches }: SyncedTenant,
  objects: readonly KubeObject[],
): Promise<Previewed[]> {
  const programs = {
    Endpoints: compilePatches({ tenant, patches: patches.Endpoints ?? [] }),
    Service: compilePatches({ tenant, patches: patches.Service ?? [] }),
  };
  return await Promise.all(
    objects.map(async (given) => {
      const name = given.kind === 'Service' ? 'Service' : 'Endpoints';
      const program = programs[name];
      const before = SYNCED_KINDS[name].translate(given, tenant);
      const { object, report } = await runner.apply(program, {
        object: before,
        direction: 'forward',
        virtualObject: given,
        hostObject: null,
      });
      if (object === undefined) return { before, report };
      const after = withMarks(object, given, tenant);
      const patch = jsonPatch.compare(before, after);
      return { before, after, ...(patch.length > MOST_STEPS ? {} : { patch }), report };
    }),
  );
}
