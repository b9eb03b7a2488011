/** Verdict of the server on a draft: problems at their places, and the file that saving would leave. */
import { ApiError } from '../../api/client.ts';
import type { FilePreview, ObjectRef, Resource } from '../../api/objects.ts';
import type { Mark } from '../components/editor.ts';
import { client } from '../session.ts';
import type { Draft } from './draft.ts';

export interface Check {
  readonly marks: readonly Mark[];
  /** Absent without the right to clone, and where there are problems. */
  readonly preview: FilePreview | undefined;
  /** A refusal that names no field. */
  readonly error: Error | undefined;
}

export interface Target {
  readonly resource: Resource;
  /** Undefined: the object is new. */
  readonly ref: ObjectRef | undefined;
}

export async function check(target: Target, draft: Draft, signal: AbortSignal): Promise<Check> {
  const { object, problems } = draft;
  if (object === undefined) {
    const marks = problems.map((problem): Mark => ({ ...problem, severity: 'error' }));
    return { marks, preview: undefined, error: undefined };
  }
  try {
    const preview = await dryRun(target, object, signal);
    return { marks: [], preview, error: undefined };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const causes = error.status.details?.causes ?? [];
    const named = causes.map(({ field, message = '' }): Mark => {
      const text = field === undefined ? message : `${field}: ${message}`;
      return { ...draft.placeOf(field), message: text, severity: 'error' };
    });
    const marks = named.length > 0 ? named : unknownFields(draft, error.message);
    return { marks, preview: undefined, error: marks.length > 0 ? undefined : error };
  }
}

/** Refusals of unknown and duplicate fields name them in the message. */
function unknownFields(draft: Draft, message: string): readonly Mark[] {
  return [...message.matchAll(/(?:unknown|duplicate) field "([^"]+)"/g)].map(
    ([text, field]): Mark => ({ ...draft.placeOf(field), message: text, severity: 'error' }),
  );
}

async function dryRun(
  target: Target,
  object: Record<string, unknown>,
  signal: AbortSignal,
): Promise<FilePreview | undefined> {
  try {
    return await client.json(pathOf(target, object), {
      ...asked(target, object),
      query: { dryRun: 'All', show: 'file' },
      signal,
    });
  } catch (error) {
    const mayNotClone = error instanceof ApiError && /platform\.git/.test(error.message);
    if (!mayNotClone) throw error;
    const query = { dryRun: 'All' };
    await client.send(pathOf(target, object), { ...asked(target, object), query, signal });
    return undefined;
  }
}

export async function save(
  target: Target,
  object: Record<string, unknown>,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  await client.send(pathOf(target, object), { ...asked(target, object), headers });
}

function asked({ ref }: Target, object: Record<string, unknown>) {
  return { method: ref === undefined ? ('POST' as const) : ('PUT' as const), body: object };
}

function pathOf({ resource, ref }: Target, object: Record<string, unknown>): string {
  if (ref !== undefined) return client.objectPath(resource, ref);
  const metadata = object['metadata'] as { namespace?: string } | undefined;
  return client.pathOf(resource, resource.namespaced ? (metadata?.namespace ?? 'default') : '');
}
