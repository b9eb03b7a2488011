/** The answer to a server-side apply that would change what others own. */
import { firstProblems, StatusError } from './status-error.ts';

/** 409 of a server-side apply that would change fields of other managers. It lists fields and owners. */
export function applyConflict(
  conflicts: readonly { readonly manager: string; readonly path: string }[],
): StatusError {
  const causes = firstProblems(conflicts).shown.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${manager}`,
    field: path,
  }));
  return new StatusError(409, 'Conflict', conflictText(conflicts), { causes });
}

function conflictText(
  conflicts: readonly { readonly manager: string; readonly path: string }[],
): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${first.manager}: ${first.path}`;
  }
  const { shown, more } = firstProblems(conflicts);
  const managers = [...new Set(shown.map(({ manager }) => manager))].sort();
  const lines = managers.flatMap((manager) => [
    `conflicts with ${manager}:`,
    ...shown.filter((one) => one.manager === manager).map(({ path }) => `- ${path}`),
  ]);
  return `Apply failed with ${conflicts.length} conflicts: ${[...lines, ...more].join('\n')}`;
}
