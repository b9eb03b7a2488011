/** Verdict of the server on a draft: problems at their places, and the file that saving would leave. */
import { ApiError } from '../../api/client.ts';
import type { ObjectRef, Resource, WritePreview } from '../../api/objects.ts';
import type { Mark } from '../components/editor.ts';
import { client } from '../session.ts';
import type { Draft } from './draft.ts';

export interface Check {
  readonly marks: readonly Mark[];
  /** Absent where there are problems, and without the right to get the object. */
  readonly preview: WritePreview | undefined;
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

/** Previews by what they need: the right to clone, the right to get the object, none. */
const PREVIEWS = ['file,effect', 'effect', undefined] as const;

async function dryRun(
  target: Target,
  object: Record<string, unknown>,
  signal: AbortSignal,
): Promise<WritePreview | undefined> {
  for (const show of PREVIEWS) {
    try {
      const query = { dryRun: 'All', show };
      const path = pathOf(target, object);
      const response = await client.send(path, { ...asked(target, object), query, signal });
      return show === undefined ? undefined : ((await response.json()) as WritePreview);
    } catch (error) {
      const isWithheld = error instanceof ApiError && error.code === 403;
      if (!isWithheld || show === undefined) throw error;
    }
  }
  return undefined;
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
