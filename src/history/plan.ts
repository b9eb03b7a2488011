/** Plan: the changes that a commit would make, for people and programs. */
import {
  flatMapYielding,
  type JsonObject,
  jsonEqual,
  type KubeObject,
  runAtOnce,
  runYielding,
  sortInSteps,
  withoutValues,
  Yielding,
} from '../apimachinery/index.ts';
import { encryptedPathsOf, encryptedValuesOf, type ObjectChange } from '../catalog/index.ts';
import { GRANT_PREFIX, type KindTable, secretsOf } from '../kinds/index.ts';
import type { Problem } from '../manifests/index.ts';
import { type DryRunReport, isAnew, type WriteEffect } from '../registry/index.ts';
import { type FieldChange, fieldChanges, type PatchStep, patchOf } from './field-changes.ts';
import { type AccessChange, accessChanges } from './plan-access.ts';
import {
  bySource,
  type DerivedChanges,
  derivedChanges,
  type SecretsBySource,
} from './plan-derived.ts';

export type PlanVerb = 'create' | 'update' | 'delete' | 'recreate' | 'move';

export interface PlanChange {
  readonly verb: PlanVerb;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** Present or last file of the object. */
  readonly path: string;
  /** Former path of a moved object. */
  readonly previousPath?: string;
  /** Values of secret fields are masked, and all others that the file of the object encrypts. */
  readonly fields: readonly FieldChange[];
  /** Of an update: the same as a JSON Patch of the manifest. Absent where it is too large. */
  readonly patch?: readonly PatchStep[];
  /** The newest manifest is not valid: the last good one stays in effect. */
  readonly degraded?: true;
  /** Access that it opens and closes. Absent: none. */
  readonly access?: readonly AccessChange[];
  /** Derived objects that follow. Absent: none. */
  readonly derived?: DerivedChanges;
  /** Effects on objects outside the repository. */
  readonly effects?: PlanEffects;
}

/** A changed object on a control-plane cluster. */
export interface PlanEffect {
  readonly verb: 'create' | 'update' | 'delete' | 'fail';
  readonly kind: 'Endpoints' | 'Service';
  /** In the tenant cluster. */
  readonly source: { readonly namespace: string; readonly name: string };
  /** Secret values are masked. */
  readonly before?: JsonObject;
  readonly after?: JsonObject;
  /** Reason why it fails and stays unchanged. */
  readonly message?: string;
}

export interface PlanEffects {
  /** Number of examined objects, and of changed ones; `items` has the first of these. */
  readonly objects: number;
  readonly changed: number;
  readonly items: readonly PlanEffect[];
  /** Number of objects that were not examined, to limit the time. */
  readonly unseen: number;
  readonly warnings: readonly string[];
  /** Reason why the effects are unknown. */
  readonly unknown?: string;
}

/** Called for each change of a kind whose files have effects elsewhere. */
export type ComputeEffects = (change: {
  readonly name: string;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
}) => Promise<PlanEffects | undefined>;

export interface Plan {
  /** The base revision; null: there is none yet. */
  readonly from: string | null;
  readonly to: string;
  /** Verdict on a push of the commit. `held`: its removals need an approval. */
  readonly verdict: 'accepted' | 'refused' | 'held';
  readonly summary: Readonly<Record<PlanVerb, number>>;
  readonly changes: readonly PlanChange[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Reasons for a refusal, beside the problems; and the required approval. */
  readonly objections: readonly string[];
}

/** Yields to other work, as a commit may change hundreds of thousands of objects. */
export async function planOf(kinds: KindTable, to: string, dryRun: DryRunReport): Promise<Plan> {
  const { from = null, problems, warnings, excess } = dryRun;
  const changes = await manyChangesOf(kinds, dryRun);
  const summary = { create: 0, update: 0, delete: 0, recreate: 0, move: 0 };
  for (const { verb } of changes) summary[verb]++;
  const refused = problems.length > 0 || dryRun.objections.length > 0;
  const verdict = refused ? 'refused' : excess === undefined ? 'accepted' : 'held';
  const objections = [...dryRun.objections, ...(excess ?? [])];
  return { from, to, verdict, summary, changes, problems, warnings, objections };
}

/** The visible changes in words, sorted by kind and name. */
export function changesOf(kinds: KindTable, effect: WriteEffect): PlanChange[] {
  const secrets = bySource(effect.derived);
  const found = effect.changes.flatMap((change) => describe(kinds, change, secrets) ?? []);
  return runAtOnce(byPlace(found));
}

/** The same for any number of changes. Yields to other work in between. */
export async function manyChangesOf(kinds: KindTable, effect: WriteEffect): Promise<PlanChange[]> {
  const secrets = bySource(effect.derived);
  const found = await flatMapYielding(effect.changes, (change) => {
    const told = describe(kinds, change, secrets);
    return told === undefined ? [] : [told];
  });
  return await runYielding(byPlace(found));
}

/** Adds the effects of changes on other systems. Invalid changes have none. */
export async function withEffects(
  plain: readonly PlanChange[],
  {
    kinds,
    effect,
    computeEffects,
  }: { kinds: KindTable; effect: WriteEffect; computeEffects: ComputeEffects },
): Promise<PlanChange[]> {
  const changes: PlanChange[] = [];
  const found = new Map(
    effect.changes
      .filter(({ key }) => key.namespace === '')
      .map((change) => [`${change.key.kind}/${change.key.name}`, change]),
  );
  const pauses = new Yielding();
  for (const change of plain) {
    await pauses.take();
    const isAsked = kinds.byKind(change.apiVersion, change.kind)?.storedIn === 'file';
    const asked =
      isAsked && change.degraded !== true ? found.get(`${change.kind}/${change.name}`) : undefined;
    const effects =
      asked &&
      (await computeEffects({
        name: change.name,
        before: asked.before?.manifest,
        after: asked.after?.manifest,
      }));
    const values = asked === undefined ? [] : encryptedValuesOf(asked);
    changes.push(
      effects === undefined ? change : { ...change, effects: withoutTexts(effects, values) },
    );
  }
  return changes;
}

/** Ends of the names of derived roles: a digest of an encrypted owner or rule is easily guessed from. */
function grantDigests(
  change: ObjectChange,
  { derived }: Pick<PlanChange, 'derived'>,
): readonly string[] {
  if (encryptedPathsOf(change).length === 0) return [];
  return (derived?.items ?? []).flatMap(({ name }) =>
    name.startsWith(GRANT_PREFIX) ? (name.split(':').at(-1) ?? []) : [],
  );
}

/** A copy whose texts repeat none of the values. */
function withoutTexts<T>(told: T, values: readonly string[]): T {
  if (values.length === 0) return told;
  return JSON.parse(JSON.stringify(told), (_key, item: unknown) =>
    typeof item === 'string' ? withoutValues(item, values) : item,
  ) as T;
}

/** Undefined for invisible changes, such as the index of a document in its file. */
function describe(
  kinds: KindTable,
  change: ObjectChange,
  secrets: SecretsBySource,
): PlanChange | undefined {
  const { key, before, after } = change;
  const there = after ?? before;
  const manifest = there?.manifest;
  const kind = manifest && kinds.byKind(manifest.apiVersion, manifest.kind);
  if (there === undefined || manifest === undefined || kind === undefined) return undefined;
  const moved = before !== undefined && before.place.path !== there.place.path;
  const { apiVersion } = manifest;
  const secretPaths = secretsOf(kind, encryptedPathsOf(change));
  const consequences = consequencesOf(kinds, {
    kind,
    key,
    before: before?.manifest,
    after: after?.manifest,
    secrets,
  });
  const { namespace, name } = key;
  const about = {
    apiVersion,
    kind: key.kind,
    ...(namespace === '' ? {} : { namespace }),
    name,
    path: there.place.path,
    ...(moved ? { previousPath: before.place.path } : {}),
    ...withoutTexts(consequences, [
      ...encryptedValuesOf(change),
      ...grantDigests(change, consequences),
    ]),
    ...(after !== undefined && after.problems.length > 0 ? { degraded: true as const } : {}),
  };
  if (after === undefined) return { verb: 'delete', ...about, fields: [] };
  const fields = fieldChanges(before?.manifest, after.manifest, secretPaths);
  if (before === undefined) return { verb: 'create', ...about, fields };
  if (isAnew(change)) return { verb: 'recreate', ...about, fields };
  if (fields.length > 0) {
    const patch = patchOf(before.manifest, after.manifest, secretPaths);
    return { verb: 'update', ...about, fields, ...(patch === undefined ? {} : { patch }) };
  }
  if (moved) return { verb: 'move', ...about, fields };
  const broke = !jsonEqual(before.problems, after.problems);
  return broke ? { verb: 'update', ...about, fields } : undefined;
}

function consequencesOf(
  kinds: KindTable,
  of: Parameters<typeof derivedChanges>[1],
): Pick<PlanChange, 'access' | 'derived'> {
  const access = accessChanges(of.kind, of.before, of.after);
  const derived = derivedChanges(kinds, of);
  return {
    ...(access.length === 0 ? {} : { access }),
    ...(derived === undefined ? {} : { derived }),
  };
}

function* byPlace(changes: readonly PlanChange[]): Generator<void, PlanChange[]> {
  const placed = changes.map((change) => {
    const { kind, namespace = '', name } = change;
    return { change, place: `${kind}\0${namespace}\0${name}` };
  });
  const sorted = yield* sortInSteps(placed, (a, b) => (a.place < b.place ? -1 : 1));
  return sorted.map(({ change }) => change);
}
