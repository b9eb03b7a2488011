/** Decides the action for one object from both ends. Writes nothing. */
import type { JsonObject, KubeObject } from '../apimachinery/index.ts';
import {
  type ApplyRequest,
  type Direction,
  describeFailure,
  type KnownObject,
  type PatchOutcome,
  type PatchProgram,
  TooManyMatchesError,
} from '../endpoint-patches/index.ts';
import { ApiFailure } from '../kubernetes-client/index.ts';
import type { SourceName } from './managed-annotations.ts';
import {
  changedOnTarget,
  hasReversePatch,
  metadataOnly,
  withDifference,
  withHashes,
} from './reverse-sync.ts';
import type { SyncedKind } from './synced-kinds.ts';
import { notPlaced, withMarks } from './translate.ts';

/** Runs the patches of a tenant on an object in a sandbox. */
export interface PatchRunner {
  apply(program: PatchProgram, request: ApplyRequest): Promise<PatchOutcome>;
}

export interface Ends {
  readonly source: SourceName;
  readonly object: KubeObject;
  /** The Service of the same name in the tenant cluster. */
  readonly service: KubeObject | undefined;
  /** The object at the target name on the control-plane cluster. */
  readonly actual: KubeObject | undefined;
  /** True if `actual` was made from this object. */
  readonly isOurs: boolean;
  /**
   * Objects of the tenant that reverse references may name; called only for the reverse direction.
   */
  known(): readonly KnownObject[];
}

export type Decision =
  /** The object is not meant to be synced. */
  | { readonly do: 'skip'; readonly reason: string; readonly message: string }
  /** A retry does not help. */
  | { readonly do: 'fail'; readonly reason: string; readonly message: string }
  /** The wanted object on the control-plane cluster. */
  | { readonly do: 'put'; readonly wanted: KubeObject }
  /** The object to be written to the tenant cluster first. */
  | { readonly do: 'return'; readonly wanted: KubeObject };

/** The rules of the kind, and the patches of the tenant. */
export interface ReconcileRules {
  readonly kind: SyncedKind;
  readonly program: PatchProgram;
  readonly runner: PatchRunner;
}

/** Throws ApiFailure when the sandbox crashed, which is temporary. */
export async function decide(ends: Ends, by: ReconcileRules): Promise<Decision> {
  const { source, object, actual } = ends;
  const { kind, program } = by;
  const skip = kind.notSynced(source, ends) ?? notPlaced(source.namespace, program.tenant);
  if (skip !== undefined) return { do: 'skip', ...skip };
  try {
    const wanted = await wantedObject(ends, by);
    if (!hasReversePatch(program)) return { do: 'put', wanted };
    const put = { do: 'put', wanted: withHashes(wanted, program) } as const;
    if (actual === undefined || !ends.isOurs) return put;
    const there = changedOnTarget(wanted, actual, program);
    if (there === undefined) return put;
    const wayBack = (at: KubeObject): Promise<JsonObject> =>
      apply(metadataOnly(at), { ends, by, direction: 'reverse' });
    const [from, to] = await Promise.all([wayBack(wanted), wayBack(there)]);
    const returned = withDifference(object, { from, to }, program.tenant.name);
    return returned === undefined ? put : { do: 'return', wanted: returned };
  } catch (error) {
    if (error instanceof TooManyMatchesError) return failed(error.message);
    if (error instanceof PatchesFailed) return failed(error.message);
    throw error;
  }
}

/** Translated and patched, with the labels and annotations of the sync. Throws PatchesFailed. */
export async function wantedObject(
  ends: Pick<Ends, 'object' | 'actual'>,
  by: ReconcileRules,
): Promise<KubeObject> {
  const { tenant, patches } = by.program;
  const translated = by.kind.translate(ends.object, tenant);
  if (patches.length === 0) return translated;
  const patched = await apply(translated, { ends, by, direction: 'forward' });
  return withMarks(patched, ends.object, tenant);
}

async function apply(
  object: KubeObject,
  of: {
    ends: Pick<Ends, 'object' | 'actual'> & Partial<Pick<Ends, 'known'>>;
    by: ReconcileRules;
    direction: Direction;
  },
): Promise<JsonObject> {
  const { ends, by, direction } = of;
  const known = direction === 'reverse' && refers(by.program) ? ends.known?.() : undefined;
  const outcome = await by.runner.apply(by.program, {
    object,
    direction,
    virtualObject: ends.object,
    hostObject: ends.actual ?? null,
    ...(known === undefined ? {} : { known }),
    values: false,
  });
  if (outcome.object !== undefined) return outcome.object;
  const { failure } = outcome.report;
  const said = failure === undefined ? 'the patches failed' : describeFailure(failure);
  const message = direction === 'forward' ? said : `on the way back: ${said}`;
  // A crash of the sandbox is not a fault of the patches.
  if (failure?.reason === 'crash') throw new ApiFailure({ code: 0, reason: 'Sandbox', message });
  throw new PatchesFailed(message);
}

function refers({ patches }: PatchProgram): boolean {
  return patches.some(({ mode }) => mode === 'reference');
}

/** A retry does not help. */
export class PatchesFailed extends Error {}

function failed(message: string): Decision {
  return { do: 'fail', reason: 'PatchFailed', message };
}
