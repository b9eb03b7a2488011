/** Warns when two objects have a name that only one should have. */
import { formatPath } from '../../apimachinery/index.ts';
import type { Directory } from '../../auth/index.ts';
import type { ObjectChange } from '../../catalog/index.ts';
import type { Kind } from '../../kinds/index.ts';
import type { Advice } from '../../registry/index.ts';

/** The warning does not name the other object, because the writer may have no right to see it. */
export function uniqueNameAdvice(directory: Pick<Directory, 'teamsNamed'>): Advice {
  const pushes = new WeakMap<readonly ObjectChange[], Pushed>();
  return (kind, object, changes = []) => {
    const unique = kind.uniqueName?.(object);
    if (unique === undefined) return [];
    const pushed = pushes.get(changes) ?? pushedOf(kind, changes);
    pushes.set(changes, pushed);
    const isOther = (name: string): boolean => name !== object.metadata.name;
    const before = directory.teamsNamed(unique.name).filter((name) => !pushed.objects.has(name));
    const isTaken = before.some(isOther) || pushed.named.get(unique.name)?.some(isOther) === true;
    if (!isTaken) return [];
    const what = `another ${kind.singular} has the name ${JSON.stringify(unique.name)}`;
    return [`${formatPath(unique.path)}: ${what}; choose one that no other ${kind.singular} has`];
  };
}

interface Pushed {
  /** Objects that the push changes or removes. */
  readonly objects: ReadonlySet<string>;
  /** Objects per unique name after the push. */
  readonly named: ReadonlyMap<string, readonly string[]>;
}

/** Names in a push of the one kind with unique names; computed once per push. */
function pushedOf(kind: Kind, changes: readonly ObjectChange[]): Pushed {
  const objects = new Set<string>();
  const named = new Map<string, string[]>();
  for (const { key, after } of changes) {
    if (key.group !== kind.group || key.kind !== kind.kind) continue;
    objects.add(key.name);
    const unique = after && kind.uniqueName?.(after.manifest);
    if (unique === undefined) continue;
    const names = named.get(unique.name) ?? [];
    names.push(key.name);
    named.set(unique.name, names);
  }
  return { objects, named };
}
