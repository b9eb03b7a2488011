/** Patches of a tenant, read once and run on many objects. */
import { createHash } from 'node:crypto';
import { expressionBody } from './expressions/syntax.ts';
import { parsePath } from './paths/parse.ts';
import type { Path } from './paths/path.ts';
import { type CompiledReference, compileReference } from './references.ts';
import type { Direction, PatchRun } from './report.ts';
import type { Patch } from './settings.ts';
import type { PatchedTenant, TenantCluster } from './tenant.ts';

export interface PatchProgram {
  /** The same for the same tenant and patches: what the sandbox knows them by. */
  readonly id: string;
  readonly source: PatchedTenant;
  readonly tenant: TenantCluster;
  readonly patches: readonly CompiledPatch[];
}

export interface CompiledPatch {
  readonly index: number;
  readonly text: string;
  readonly path: Path;
  readonly mode: PatchRun['mode'];
  /** Expressions per direction, ready to be compiled by the sandbox. */
  readonly expressions: Readonly<Partial<Record<Direction, string>>>;
  readonly reference: CompiledReference | undefined;
}

/** Throws PathSyntaxError for patches that `checkEndpointsSetting` would refuse. */
export function compilePatches(source: PatchedTenant): PatchProgram {
  const { tenant, patches } = source;
  const id = createHash('sha256').update(JSON.stringify(source)).digest('base64url');
  return { id, source, tenant, patches: patches.map(compilePatch) };
}

function compilePatch(patch: Patch, index: number): CompiledPatch {
  const { path, expression, reverseExpression, reference, labels } = patch;
  const expressions: Partial<Record<Direction, string>> = {};
  if (expression !== undefined) expressions.forward = expressionBody(expression);
  if (reverseExpression !== undefined) expressions.reverse = expressionBody(reverseExpression);
  const otherMode = labels === undefined ? 'expression' : 'labels';
  return {
    index,
    text: path,
    path: parsePath(path),
    mode: reference === undefined ? otherMode : 'reference',
    expressions,
    reference: reference === undefined ? undefined : compileReference(reference),
  };
}
