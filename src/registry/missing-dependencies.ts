/**
 * Warnings about objects that name others which are not there. They are taken, since the others may
 * come later: manifests of one folder are applied in any order.
 */
import { describeKey, keyString, type ObjectKey } from '../apimachinery/key.ts';
import type { KubeObject } from '../apimachinery/object.ts';
import { shownPath } from '../apimachinery/text.ts';
import type { ObjectChange } from '../catalog/step.ts';
import type { Kind } from '../kinds/kind.ts';
import type { WriteParts } from './write-context.ts';

type Parts = Pick<WriteParts, 'kinds'> & { readonly store: Pick<WriteParts['store'], 'get'> };
type Exists = (key: ObjectKey) => boolean;

export function missingDependencies(parts: Parts, kind: Kind, object: KubeObject): string[] {
  return missing(parts, { kind, object, exists: (key) => parts.store.get(key) !== undefined });
}

/** The same for every change of a push, a line each with its place; judged by what the push leaves. */
export function missingAfterPush(parts: Parts, changes: readonly ObjectChange[]): string[] {
  const { kinds, store } = parts;
  let after: Map<string, boolean> | undefined;
  const exists: Exists = (key) => {
    after ??= new Map(changes.map((one) => [keyString(one.key), one.after !== undefined]));
    return after.get(keyString(key)) ?? store.get(key) !== undefined;
  };
  return changes.flatMap(({ key, after: made }) => {
    const kind = kinds.kinds.find((one) => one.group === key.group && one.kind === key.kind);
    if (made === undefined || kind?.dependsOn === undefined) return [];
    const place = shownPath(made.place.path);
    const texts = missing(parts, { kind, object: made.manifest, exists });
    return texts.map((text) => `${place}: ${describeKey(key)}: ${text}`);
  });
}

function missing(
  { kinds }: Parts,
  { kind, object, exists }: { kind: Kind; object: KubeObject; exists: Exists },
): string[] {
  return (kind.dependsOn?.(object) ?? []).flatMap(({ path, plural, name, effect }) => {
    const wanted = kinds.byPlural(kind.group, plural);
    if (wanted === undefined) return [];
    const key = { group: wanted.group, kind: wanted.kind, namespace: '', name };
    if (exists(key)) return [];
    return [`${path.join('.')}: there is no ${wanted.singular} ${JSON.stringify(name)}; ${effect}`];
  });
}
