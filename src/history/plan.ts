/** What a commit would bring, as people and programs read it before it happens. */
import { type JsonObject, jsonEqual, type KubeObject } from '../apimachinery/index.ts';
import type { ObjectChange } from '../catalog/index.ts';
import type { KindTable } from '../kinds/index.ts';
import type { Problem } from '../manifests/index.ts';
import { type DryRunReport, isAnew } from '../registry/index.ts';
import { type FieldChange, fieldChanges } from './field-changes.ts';

export type PlanVerb = 'create' | 'update' | 'delete' | 'recreate' | 'move';

export interface PlanChange {
  readonly verb: PlanVerb;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** The file that holds it, or held it. */
  readonly path: string;
  /** Where it came from, when it moves. */
  readonly previousPath?: string;
  /** Values of secret fields are masked. */
  readonly fields: readonly FieldChange[];
  /** The newest manifest is not valid: the last good one stays in force. */
  readonly degraded?: true;
  /** What it does to objects that are not in the repository. */
  readonly effects?: PlanEffects;
}

/** An object on a control-plane cluster that becomes another one. */
export interface PlanEffect {
  readonly verb: 'create' | 'update' | 'delete' | 'fail';
  readonly kind: 'Endpoints' | 'Service';
  /** In the tenant cluster. */
  readonly source: { readonly namespace: string; readonly name: string };
  /** Secret values are masked. */
  readonly before?: JsonObject;
  readonly after?: JsonObject;
  /** Why it fails and stays as it is. */
  readonly message?: string;
}

export interface PlanEffects {
  /** Objects that were looked at, and how many of them become others; `items` has the first. */
  readonly objects: number;
  readonly changed: number;
  readonly items: readonly PlanEffect[];
  /** Objects that were not looked at, since it would have taken too long. */
  readonly unseen: number;
  readonly warnings: readonly string[];
  /** Why nothing is known. */
  readonly unknown?: string;
}

/** Asked for each change of a kind whose files say what to do elsewhere. */
export type ComputeEffects = (change: {
  readonly name: string;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
}) => Promise<PlanEffects | undefined>;

export interface Plan {
  /** The revision that is compared with; null: there is none yet. */
  readonly from: string | null;
  readonly to: string;
  /** What a push of the commit would be told. `held`: it removes so much that it takes consent. */
  readonly verdict: 'accepted' | 'refused' | 'held';
  readonly summary: Readonly<Record<PlanVerb, number>>;
  readonly changes: readonly PlanChange[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Why it would be refused, beside the problems; and what consent it takes. */
  readonly objections: readonly string[];
}

export function planOf(kinds: KindTable, to: string, foretold: DryRunReport): Plan {
  const { from = null, problems, warnings, excess } = foretold;
  const changes = foretold.changes.flatMap((change) => describe(kinds, change) ?? []).sort(byPlace);
  const summary = { create: 0, update: 0, delete: 0, recreate: 0, move: 0 };
  for (const { verb } of changes) summary[verb]++;
  const refused = problems.length > 0 || foretold.objections.length > 0;
  const verdict = refused ? 'refused' : excess === undefined ? 'accepted' : 'held';
  const objections = [...foretold.objections, ...(excess ?? [])];
  return { from, to, verdict, summary, changes, problems, warnings, objections };
}

/** The plan, with what changes do elsewhere. What is not valid does nothing. */
export async function withEffects(
  plan: Plan,
  {
    kinds,
    foretold,
    foresee,
  }: { kinds: KindTable; foretold: DryRunReport; foresee: ComputeEffects },
): Promise<Plan> {
  const changes: PlanChange[] = [];
  for (const change of plan.changes) {
    const found = foretold.changes.find(
      ({ key }) => key.kind === change.kind && key.name === change.name && key.namespace === '',
    );
    const isAsked = kinds.byKind(change.apiVersion, change.kind)?.storedIn === 'file';
    const asked = isAsked && change.degraded !== true ? found : undefined;
    const effects =
      asked &&
      (await foresee({
        name: change.name,
        before: asked.before?.manifest,
        after: asked.after?.manifest,
      }));
    changes.push(effects === undefined ? change : { ...change, effects });
  }
  return { ...plan, changes };
}

/** Undefined for what nobody would notice, such as the number of a document in its file. */
function describe(kinds: KindTable, change: ObjectChange): PlanChange | undefined {
  const { key, before, after } = change;
  const there = after ?? before;
  const manifest = there?.manifest;
  const kind = manifest && kinds.byKind(manifest.apiVersion, manifest.kind);
  if (there === undefined || manifest === undefined || kind === undefined) return undefined;
  const moved = before !== undefined && before.place.path !== there.place.path;
  const { apiVersion } = manifest;
  const { namespace, name } = key;
  const about = {
    apiVersion,
    kind: key.kind,
    ...(namespace === '' ? {} : { namespace }),
    name,
    path: there.place.path,
    ...(moved ? { previousPath: before.place.path } : {}),
    ...(after !== undefined && after.problems.length > 0 ? { degraded: true as const } : {}),
  };
  if (after === undefined) return { verb: 'delete', ...about, fields: [] };
  const fields = fieldChanges(kind, before?.manifest, after.manifest);
  if (before === undefined) return { verb: 'create', ...about, fields };
  if (isAnew(change)) return { verb: 'recreate', ...about, fields };
  if (fields.length > 0) return { verb: 'update', ...about, fields };
  if (moved) return { verb: 'move', ...about, fields };
  const broke = !jsonEqual(before.problems, after.problems);
  return broke ? { verb: 'update', ...about, fields } : undefined;
}

function byPlace(a: PlanChange, b: PlanChange): number {
  const [x, y] = [a, b].map(({ kind, namespace = '', name }) => `${kind}\0${namespace}\0${name}`);
  return (x ?? '') < (y ?? '') ? -1 : 1;
}
