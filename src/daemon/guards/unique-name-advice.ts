/** Warnings about names that two objects have and only one should. */
import { formatPath } from '../../apimachinery/field-error.ts';
import type { Directory } from '../../auth/directory.ts';
import type { Advice } from '../../registry/write-context.ts';

/** The other object is not named: the writer may have no right to see it. */
export function uniqueNameAdvice(directory: Pick<Directory, 'teamsNamed'>): Advice {
  return (kind, object) => {
    const unique = kind.uniqueName?.(object);
    if (unique === undefined) return [];
    const others = directory
      .teamsNamed(unique.name)
      .filter((name) => name !== object.metadata.name);
    if (others.length === 0) return [];
    const what = `another ${kind.singular} has the name ${JSON.stringify(unique.name)}`;
    return [`${formatPath(unique.path)}: ${what}; choose one that no other ${kind.singular} has`];
  };
}
