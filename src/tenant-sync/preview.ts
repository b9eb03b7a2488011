/** Dry run of the patches on given objects, without a cluster. */
// Not the package itself: it has TypeScript beside its main file, which tsx would take in `npm run dev`.
import type { Operation } from 'fast-json-patch';
import duplex from 'fast-json-patch/commonjs/duplex.js';
import { asKubeObject, type JsonObject, type KubeObject } from '../apimachinery/index.ts';
import {
  compilePatches,
  type Direction,
  type PatchReport,
  type RoundTripDifference,
  roundTrip,
  type SyncedTenant,
} from '../endpoint-patches/index.ts';
import type { PatchRunner } from './reconcile-object.ts';
import { SYNCED_KINDS } from './synced-kinds.ts';
import { withMarks } from './translate.ts';

export interface PreviewRequest {
  /** As in the tenant cluster. */
  readonly objects: readonly KubeObject[];
  /** A valid vcluster.yaml to use instead of that of the tenant. */
  readonly config: JsonObject | undefined;
  /** `reverse`: the objects are those of the control-plane cluster, and flow back. */
  readonly direction: Direction;
}

export interface Previewed {
  /** Translated, before the patches. */
  readonly before: KubeObject;
  /** Absent: a patch failed, and nothing would be written. */
  readonly after?: KubeObject;
  /** From `before` to `after`, as a JSON Patch (RFC 6902). Absent where it has more than 200 steps. */
  readonly patch?: readonly Operation[];
  readonly report: PatchReport;
  /** Values that a pair of expressions does not bring back; of the forward direction. */
  readonly roundTrip?: readonly RoundTripDifference[];
}

/** A longer patch is harder to read than both objects. */
const MOST_STEPS = 200;

export async function previewPatches(
  runner: PatchRunner,
  { tenant, patches }: SyncedTenant,
  { objects, direction }: Pick<PreviewRequest, 'objects' | 'direction'>,
): Promise<Previewed[]> {
  const programs = {
    Endpoints: compilePatches({ tenant, patches: patches.Endpoints ?? [] }),
    Service: compilePatches({ tenant, patches: patches.Service ?? [] }),
  };
  return await Promise.all(
    objects.map(async (given) => {
      const name = given.kind === 'Service' ? 'Service' : 'Endpoints';
      const program = programs[name];
      if (direction === 'reverse') {
        const back = await runner.apply(program, { object: given, direction, hostObject: given });
        return previewed(given, asObject(back.object), back.report);
      }
      const before = SYNCED_KINDS[name].translate(given, tenant);
      const ends = { object: before, virtualObject: given, hostObject: null };
      const { object, report } = await runner.apply(program, { ...ends, direction });
      const after = object === undefined ? undefined : withMarks(object, given, tenant);
      const differences = await roundTrip(runner, program, ends);
      return { ...previewed(before, after, report), roundTrip: differences };
    }),
  );
}

function previewed(
  before: KubeObject,
  after: KubeObject | undefined,
  report: PatchReport,
): Previewed {
  if (after === undefined) return { before, report };
  const patch = duplex.compare(before, after);
  return { before, after, ...(patch.length > MOST_STEPS ? {} : { patch }), report };
}

function asObject(object: JsonObject | undefined): KubeObject | undefined {
  return object === undefined ? undefined : asKubeObject(object);
}
