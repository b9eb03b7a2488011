/**
 * PUT of `…/<name>/source`: a write of the very text of a manifest, comments included, by a person who may
 * push it. It passes the admission of every write and takes the form in which GET answers: `revision` is the
 * commit that the text was read from, and nothing is written if the document changed since.
 */
import {
  badRequest,
  conflict,
  formatPath,
  isRecord,
  type JsonObject,
  jsonEqual,
  StatusError,
  valueAt,
} from '../../apimachinery/index.ts';
import { checkRevision } from '../../history/index.ts';
import { apiVersionOf, type Kind } from '../../kinds/index.ts';
import { formatProblem, parseDocument, splitStream } from '../../manifests/index.ts';
import type { WriteResult } from '../../registry/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { authorizeRequest } from '../filters/access.ts';
import { bodyFormatOf, decodeBody } from '../input/body.ts';
import type { Answer } from '../output/answer.ts';
import { GIT_PATH } from '../paths.ts';
import { header, type ResourceRequest } from '../request.ts';
import { pastObject } from './past.ts';
import { answerForm, objectAnswer, timed, writeOptions, writeTarget } from './shared.ts';

export async function handleSourceWrite(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  answerForm(deps, request, 'object');
  const { kind, info, user } = request;
  const { namespace, name } = info;
  const resource = { group: kind.group, resource: kind.plural, namespace, name };
  authorizeRequest(deps, user, { verb: 'update', ...resource });
  for (const verb of ['get', 'update']) authorizeRequest(deps, user, { verb, path: GIT_PATH });
  const { revision, text, reason } = readWish(request);
  const { found, point } = await pastObject(deps, request, { revision });
  const { source, identity } = found.source;
  if (source.partial === true)
    throw conflict(kind, name, 'its secrets are sealed with a key that is not here');
  const { text: base, line } = await deps.history.manifestText(found, point);
  const problems = (await deps.history.problemsIn(found, { text, line })).map(formatProblem);
  const body = bodyOf(request, text, {
    problems,
    // The hashes of a manifest that is not valid are those of the last good one.
    before:
      found.source.problems.length > 0 ? found.source.manifest : parseDocument(base, 0)?.value,
  });
  const asked = writeOptions(deps, request, 'update');
  const isVerbatim = kind.storedIn === 'file';
  const update = (): Promise<WriteResult> =>
    deps.registry.update({
      verb: 'update',
      ...writeTarget(deps, request),
      change: ({ metadata: { resourceVersion } }) => ({
        ...body,
        metadata: { ...recordAt(body, 'metadata'), resourceVersion, uid: identity.uid },
      }),
      duplicates: [],
      // A field that is ignored would stay in the text.
      options: { ...asked, fieldValidation: 'Strict', reason: reason ?? asked.reason },
      text: { base, text, isVerbatim },
    });
  const result = await timed(
    deps,
    update().catch((error: unknown) => {
      throw withPlaces(error, problems);
    }),
  );
  return await objectAnswer(deps, request, result, 200);
}

/** The refusal of a text, with the place of each problem. */
function withPlaces(error: unknown, problems: readonly string[]): unknown {
  if (!(error instanceof StatusError) || problems.length === 0) return error;
  if (error.code !== 400 && error.code !== 422) return error;
  const message = `${error.message}\n${problems.join('\n')}`;
  return new StatusError(error.code, error.reason, message, error.details);
}

interface Wish {
  readonly revision: string;
  readonly text: string;
  readonly reason: string | undefined;
}

/** Fields of GET other than these are ignored, so that its answer can be sent back. Throws 400. */
function readWish(request: ResourceRequest): Wish {
  const format = bodyFormatOf(header(request, 'content-type'));
  const { value } = decodeBody(request.body, format);
  const { revision, text, reason } = isRecord(value) ? value : {};
  if (typeof revision !== 'string' || typeof text !== 'string') {
    throw badRequest(
      'expected {"revision": "<commit that the text was read from>", "text": "<YAML>"}',
    );
  }
  if (reason !== undefined && typeof reason !== 'string')
    throw badRequest('"reason" must be a text');
  return { revision: checkRevision(revision), text, reason };
}

/** The object that the text means. Throws 400 with the place of each problem. */
function bodyOf(
  { kind, info }: ResourceRequest,
  text: string,
  { problems, before }: { readonly problems: readonly string[]; readonly before: unknown },
): JsonObject {
  if (splitStream(text).length !== 1) throw badRequest('the text must be one document of YAML');
  const { value, problems: flaws } = parseDocument(text, 0) ?? { problems: [] };
  const [flaw] = flaws;
  if (flaw !== undefined && problems.length > 0) throw badRequest(problems.join('\n'));
  // Readers of manifests take larger ones than the editor.
  if (flaw !== undefined) throw uneditable(kind, info.name, flaw.message);
  if (!isRecord(value)) throw badRequest('the text must be a map of YAML');
  if (kind.storedIn === 'file') {
    return {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: { name: info.name },
      spec: value,
    };
  }
  return withoutWriteOnly(kind, value as JsonObject, before);
}

function uneditable({ group, kind }: Kind, name: string, why: string): StatusError {
  const message = `Cannot write ${kind} "${name}": no later write could edit its text: ${why}`;
  return new StatusError(422, 'Invalid', message, { name, group, kind });
}

/** The file has hashes of write-only values, which are no values for a write. */
function withoutWriteOnly(kind: Kind, value: JsonObject, before: unknown): JsonObject {
  const body = structuredClone(value);
  for (const { path } of kind.writeOnly) {
    if (!jsonEqual(valueAt(value, path), valueAt(before, path))) {
      throw badRequest(
        `${formatPath(path)} is changed with a write of the object, and not of its text`,
      );
    }
    const parent = valueAt(body, path.slice(0, -1));
    const last = path.at(-1);
    if (isRecord(parent) && last !== undefined) delete parent[String(last)];
  }
  return body;
}

function recordAt(value: JsonObject, field: string): JsonObject {
  const found = value[field];
  return isRecord(found) ? (found as JsonObject) : {};
}
