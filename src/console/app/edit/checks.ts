/** Verdict of the server on a draft: problems at their places, and the file that saving would leave. */
import { ApiError, type Ask } from '../../../client/index.ts';
import type {
  KubeObject,
  ObjectRef,
  ObjectSource,
  Resource,
  WritePreview,
} from '../../api/objects.ts';
import type { Mark } from '../components/editor.ts';
import { DEFAULT_NAMESPACE } from '../resources.ts';
import { client } from '../session.ts';
import type { Draft } from './draft.ts';

export interface Check {
  readonly marks: readonly Mark[];
  /** Absent where there are problems, and without the right to get the object. */
  readonly preview: WritePreview | undefined;
  /** A refusal that names no field. */
  readonly error: Error | undefined;
  /** True: saving writes the text with its comments. False: it writes fields. */
  readonly savesText: boolean;
}

export interface Target {
  readonly resource: Resource;
  /** Undefined: the object is new. */
  readonly ref: ObjectRef | undefined;
}

/** A draft as it would be sent. */
export interface Sent {
  readonly object: Record<string, unknown>;
  /** The text as a manifest in git. Undefined: it has placeholders, or the object is new. */
  readonly source: Pick<ObjectSource, 'revision' | 'text'> | undefined;
  /** True: the manifest in git, which is not valid, is replaced. */
  readonly force: boolean;
}

export async function check(
  target: Target,
  draft: Draft,
  { source, force, signal }: Omit<Sent, 'object'> & { readonly signal: AbortSignal },
): Promise<Check> {
  const { object, problems } = draft;
  const none = { preview: undefined, error: undefined, savesText: source !== undefined };
  if (object === undefined) {
    const marks = problems.map((problem): Mark => ({ ...problem, severity: 'error' }));
    return { ...none, marks };
  }
  try {
    return { ...none, marks: [], ...(await dryRun(target, { object, source, force }, signal)) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const causes = error.status.details?.causes ?? [];
    const named = causes.map(({ field, message = '' }): Mark => {
      const text = field === undefined ? message : `${field}: ${message}`;
      return { ...draft.placeOf(field), message: text, severity: 'error' };
    });
    const marks = named.length > 0 ? named : unknownFields(draft, error.message);
    return { ...none, marks, error: marks.length > 0 ? undefined : error };
  }
}

/** Refusals of unknown and duplicate fields name them in the message. */
function unknownFields(draft: Draft, message: string): readonly Mark[] {
  return [...message.matchAll(/(?:unknown|duplicate) field "([^"]+)"/g)].map(
    ([text, field]): Mark => ({ ...draft.placeOf(field), message: text, severity: 'error' }),
  );
}

/** Requests by what they need: the right to push, to clone, to get the object, none of these. */
const ATTEMPTS = [
  { savesText: true, show: 'file,effect' },
  { savesText: false, show: 'file,effect' },
  { savesText: false, show: 'effect' },
  { savesText: false, show: undefined },
] as const;

/** Writes the text where the person may push, else fields; and asks for as much as the person may see. */
async function dryRun(
  target: Target,
  sent: Sent,
  signal: AbortSignal,
): Promise<Pick<Check, 'preview' | 'savesText'>> {
  // The text in git is not the one that is edited.
  const writesText = sent.source !== undefined && !sent.force;
  const attempts = writesText ? ATTEMPTS : ATTEMPTS.slice(1);
  let refusal: unknown;
  for (const { savesText, show } of attempts) {
    try {
      const { path, ...ask } = writeOf(target, { sent, savesText });
      const query = { ...ask.query, dryRun: 'All', show };
      const response = await client.send(path, { ...ask, query, signal });
      const preview = show === undefined ? undefined : ((await response.json()) as WritePreview);
      return { preview, savesText };
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 403) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

export async function save(
  target: Target,
  of: { readonly sent: Sent; readonly savesText: boolean },
  headers: Readonly<Record<string, string>>,
): Promise<KubeObject> {
  const { path, ...ask } = writeOf(target, of);
  return await client.json<KubeObject>(path, { ...ask, headers });
}

function writeOf(
  { resource, ref }: Target,
  of: { readonly sent: Sent; readonly savesText: boolean },
): Ask & { readonly path: string } {
  const { sent, savesText } = of;
  const { object, source, force } = sent;
  if (ref === undefined) {
    const metadata = object['metadata'] as { namespace?: string } | undefined;
    const namespace = resource.namespaced ? (metadata?.namespace ?? DEFAULT_NAMESPACE) : '';
    return { path: client.pathOf(resource, namespace), method: 'POST', body: object };
  }
  const path = client.objectPath(resource, ref);
  return savesText && source !== undefined
    ? { path: `${path}/source`, method: 'PUT', body: source }
    : { path, method: 'PUT', body: object, query: force ? { force } : {} };
}
