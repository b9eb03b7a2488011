/**
 * Dry run of another tenant configuration: each object on the control-plane cluster as it is wanted
 * now, and as it will be. Writes nothing, in limited time.
 */
import { type JsonObject, jsonEqual, type KubeObject } from '../apimachinery/index.ts';
import {
  compilePatches,
  describeFailure,
  type PatchProgram,
  type RoundTripDifference,
  roundTrip,
  type SyncedKindName,
  type SyncedTenant,
} from '../endpoint-patches/index.ts';
import type { SourceName } from './managed-annotations.ts';
import { PatchesFailed, type PatchRunner, wantedObject } from './reconcile-object.ts';
import { hasReversePatch } from './reverse-sync.ts';
import { type Masking, secretsOf } from './secret-values.ts';
import type { SyncedKind } from './synced-kinds.ts';
import { notPlaced } from './translate.ts';

/** An object of the tenant, with the objects that decide about it. */
export interface Observed {
  readonly kind: SyncedKind;
  readonly object: KubeObject;
  /** The Service of the same name. Null: not known. */
  readonly service: KubeObject | undefined | null;
  /** The object on the control-plane cluster, if known. */
  readonly actual?: KubeObject | undefined;
}

/** A configuration of the tenant; undefined: there is no tenant, or it is not synced. */
export type TenantVersion = SyncedTenant | undefined;

export interface Effect {
  readonly verb: 'create' | 'update' | 'delete' | 'fail';
  readonly kind: SyncedKindName;
  readonly source: SourceName;
  /** The target; secret values are masked. */
  readonly before?: JsonObject;
  readonly after?: JsonObject;
  /** Reason of a failure: the object stays unchanged. */
  readonly message?: string;
}

export interface Effects {
  /** Objects that were examined. */
  readonly objects: number;
  /** Number of changed objects; `items` has the first of them. */
  readonly changed: number;
  readonly items: readonly Effect[];
  /** Objects that were not examined within the time limit. */
  readonly unseen: number;
  /** Pairs of expressions that are not inverse. */
  readonly warnings: readonly string[];
}

export interface EffectsRequest {
  readonly before: TenantVersion;
  readonly after: TenantVersion;
  readonly observed: readonly Observed[];
  readonly runner: PatchRunner;
  /** Time limit, default 5 s; later objects are left out. */
  readonly timeLimitMs?: number;
}

const MAX_OBJECTS = 1000;
const MAX_ITEMS = 20;
const MAX_WARNINGS = 10;
const TIME_LIMIT_MS = 5_000;
const CONCURRENCY = 16;

export async function effectsOf(request: EffectsRequest): Promise<Effects> {
  const { before, after, observed, runner, timeLimitMs = TIME_LIMIT_MS } = request;
  const programs = { before: programsOf(before), after: programsOf(after) };
  const masking = secretsOf([before, after].flatMap((of) => (of ? [of.tenant.config] : [])));
  const synced = observed.filter(isSynced);
  const items: Effect[] = [];
  const warnings = new Set<string>();
  const end = performance.now() + timeLimitMs;
  let looked = 0;
  let changed = 0;
  while (looked < Math.min(synced.length, MAX_OBJECTS) && performance.now() < end) {
    const some = synced.slice(looked, Math.min(looked + CONCURRENCY, MAX_OBJECTS));
    looked += some.length;
    const found = await Promise.all(some.map((each) => effectOf(each, { ...programs, runner })));
    const effects = found.filter((effect) => effect !== undefined);
    changed += effects.length;
    for (const [i, effect] of found.entries()) {
      if (effect === undefined || items.length === MAX_ITEMS) continue;
      items.push(masked(effect, masking, some[i]?.object));
    }
    const good = some.filter((_each, i) => found[i]?.verb !== 'fail');
    const of = { programs: programs.after, runner, masking, end };
    for (const text of await pairsIn(good, of)) warnings.add(text);
  }
  const unseen = synced.length - looked;
  const told = [...warnings].slice(0, MAX_WARNINGS);
  return { objects: looked, changed, items, unseen, warnings: told };
}

type Programs = ReadonlyMap<SyncedKindName, PatchProgram>;

/** A kind without a program is not synced. */
function programsOf(version: TenantVersion): Programs {
  const { tenant, patches = {} } = version ?? {};
  const names = Object.keys(patches) as SyncedKindName[];
  return new Map(
    names.flatMap((name) => {
      const own = patches[name];
      return tenant && own ? [[name, compilePatches({ tenant, patches: own })] as const] : [];
    }),
  );
}

function isSynced({ kind, object, service }: Observed): boolean {
  const of = { object, service: service === null ? object : service };
  return kind.notSynced(sourceName(object), of) === undefined;
}

function sourceName({ metadata }: KubeObject): SourceName {
  return { namespace: metadata.namespace ?? 'default', name: metadata.name ?? '' };
}

interface ProgramPair {
  readonly before: Programs;
  readonly after: Programs;
  readonly runner: PatchRunner;
}

/** Undefined: unchanged. */
async function effectOf(observed: Observed, by: ProgramPair): Promise<Effect | undefined> {
  const kind = observed.kind.name;
  const source = sourceName(observed.object);
  const [before, after] = await Promise.all(
    [by.before, by.after].map((programs) =>
      outcome(observed, { program: programs.get(kind), runner: by.runner }),
    ),
  );
  if (after instanceof PatchesFailed) {
    // The same failure before and after is not an effect of the change.
    if (before instanceof PatchesFailed && before.message === after.message) return undefined;
    const shown = before instanceof PatchesFailed || before === undefined ? {} : { before };
    return { verb: 'fail', kind, source, ...shown, message: after.message };
  }
  const was = before instanceof PatchesFailed ? observed.actual : before;
  if (jsonEqual(was, after)) return undefined;
  if (was === undefined) return after && { verb: 'create', kind, source, after };
  return after === undefined
    ? { verb: 'delete', kind, source, before: was }
    : { verb: 'update', kind, source, before: was, after };
}

async function outcome(
  { kind, object, actual }: Observed,
  { program, runner }: { program: PatchProgram | undefined; runner: PatchRunner },
): Promise<JsonObject | PatchesFailed | undefined> {
  const source = sourceName(object);
  if (program === undefined || notPlaced(source.namespace, program.tenant)) return undefined;
  try {
    return await wantedObject({ object, actual }, { kind, program, runner });
  } catch (error) {
    if (error instanceof PatchesFailed) return error;
    return new PatchesFailed(error instanceof Error ? error.message : String(error));
  }
}

function masked(effect: Effect, masking: Masking, of: KubeObject | undefined): Effect {
  const { before, after, message } = effect;
  const shown = masking.pair(before, after, of);
  return {
    ...effect,
    ...shown,
    ...(message === undefined ? {} : { message: masking.text(message, of) }),
  };
}

/**
 * One object at a time: a hostile pair takes its full time limit, and each object runs all pairs.
 */
async function pairsIn(
  observed: readonly Observed[],
  of: {
    programs: Programs;
    runner: PatchRunner;
    masking: Masking;
    end: number;
  },
): Promise<string[]> {
  const { programs, runner, masking, end } = of;
  const texts: string[] = [];
  for (const { kind, object: given, actual } of observed) {
    const program = programs.get(kind.name);
    if (program === undefined || !hasReversePatch(program)) continue;
    if (performance.now() > end || texts.length >= MAX_WARNINGS) break;
    const object = kind.translate(given, program.tenant) ?? {};
    const ends = { virtualObject: given ?? null, hostObject: actual ?? null };
    for (const difference of await roundTrip(runner, program, { object, ...ends }, end)) {
      texts.push(masking.text(warningOf(difference, sourceName(given)), given));
    }
  }
  return texts;
}

function warningOf(difference: RoundTripDifference, { namespace, name }: SourceName): string {
  const { patch, path, before, there, back, failure } = difference;
  const end = failure === undefined ? JSON.stringify(back) : `failed, ${describeFailure(failure)}`;
  const way = `${JSON.stringify(before)} → ${JSON.stringify(there)} → ${end}`;
  return `patches[${patch}] does not come back in ${namespace}/${name}: ${path}: ${way}`;
}
