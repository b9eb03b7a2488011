/** Dry run of the patches on given objects, without a cluster. */
// Not the package itself: it has TypeScript beside its main file, which tsx would take in `npm run dev`.
import type { Operation } from 'fast-json-patch';
import duplex from 'fast-json-patch/commonjs/duplex.js';
import {
  asKubeObject,
  badRequest,
  type JsonObject,
  type KubeObject,
  type StatusError,
} from '../apimachinery/index.ts';
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

interface Preview extends Pick<PreviewRequest, 'objects' | 'direction'> {
  readonly timeLimitMs?: number;
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

/** Time limit of a preview. */
const LONGEST_MS = 10_000;
/** Characters of JSON for the matches and the differences of all objects. */
const REPORT_ROOM = 8 * 1024 * 1024;
/** A longer patch is harder to read than both objects. */
const MOST_STEPS = 200;

export async function previewPatches(
  runner: PatchRunner,
  { tenant, patches }: SyncedTenant,
  { objects, direction, timeLimitMs = LONGEST_MS }: Preview,
): Promise<Previewed[]> {
  const programs = {
    Endpoints: compilePatches({ tenant, patches: patches.Endpoints ?? [] }),
    Service: compilePatches({ tenant, patches: patches.Service ?? [] }),
  };
  const end = performance.now() + timeLimitMs;
  const reportRoom = Math.floor(REPORT_ROOM / objects.length);
  const items: Previewed[] = [];
  // One at a time: hostile expressions take their full time limit for each object.
  for (const given of objects) {
    items.push(await previewOf(given));
    if (performance.now() > end) throw tooLong(timeLimitMs);
  }
  return items;

  async function previewOf(given: KubeObject): Promise<Previewed> {
    const name = given.kind === 'Service' ? 'Service' : 'Endpoints';
    const program = programs[name];
    if (direction === 'reverse') {
      const both = { object: given, direction, hostObject: given };
      const back = await runner.apply(program, { ...both, reportRoom });
      return previewed(given, asObject(back.object), back.report);
    }
    const before = SYNCED_KINDS[name].translate(given, tenant);
    const ends = { object: before, virtualObject: given, hostObject: null, reportRoom };
    const { object, report } = await runner.apply(program, { ...ends, direction });
    const after = object === undefined ? undefined : withMarks(object, given, tenant);
    const differences = await roundTrip(runner, program, ends, end);
    return { ...previewed(before, after, report), roundTrip: differences };
  }
}

function tooLong(ms: number): StatusError {
  const seconds = ms / 1000;
  return badRequest(`the patches take more than ${seconds} s: preview fewer objects or patches`);
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
