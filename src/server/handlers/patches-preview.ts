/**
 * POST of `tenants/<name>/patches:preview`: applies the patches of a tenant to given Endpoints and
 * Services. Writes nothing.
 */
import {
  asKubeObject,
  badRequest,
  type FieldError,
  formatFieldError,
  invalid,
  invalidObject,
  isRecord,
  type JsonObject,
  type KubeObject,
  notFound,
  valueAt,
} from '../../apimachinery/index.ts';
import { checkEndpointsSetting, deadReverseExpressions } from '../../endpoint-patches/index.ts';
import { apiVersionOf, compileSchema, ENDPOINTS, SERVICE } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { bodyFormatOf, decodeBody } from '../input/body.ts';
import type { Answer } from '../output/answer.ts';
import { encodeDocument } from '../output/representation.ts';
import { header, type ResourceRequest } from '../request.ts';
import { answerForm } from './shared.ts';

const MOST_OBJECTS = 100;

export async function handlePatchesPreview(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  const { kind, info } = request;
  const form = answerForm(deps, request, 'object');
  const format = bodyFormatOf(header(request, 'content-type'));
  const { value: body } = decodeBody(request.body, format);
  const config = isRecord(body) ? body['config'] : undefined;
  const problems = config === undefined ? [] : problemsOf(config);
  if (problems.length > 0) throw invalidObject(kind, info.name, problems.map(inConfig));
  const objects = objectsIn(body);
  const previewed = deps.tenants.preview(info.name, {
    objects,
    config: config as JsonObject | undefined,
    direction: directionIn(body),
  });
  if (previewed === undefined) throw notFound(kind, info.name);
  const document = {
    kind: 'PatchesPreview',
    apiVersion: apiVersionOf(kind),
    metadata: { name: info.name },
    items: await previewed,
  };
  return { code: 200, ...encodeDocument(document, form) };
}

function directionIn(body: unknown): 'forward' | 'reverse' {
  const { direction = 'forward' } = isRecord(body) ? body : {};
  if (direction === 'forward' || direction === 'reverse') return direction;
  throw badRequest('direction must be forward or reverse');
}

function problemsOf(config: unknown): FieldError[] {
  const problems = checkEndpointsSetting(config);
  return problems.length > 0 ? problems : deadReverseExpressions(config);
}

function inConfig(error: FieldError): FieldError {
  return { ...error, path: ['config', ...error.path] };
}

/** Objects without a kind are Endpoints. Throws 400 for other kinds than Endpoints and Service. */
function objectsIn(body: unknown): KubeObject[] {
  const objects = isRecord(body) ? body['objects'] : undefined;
  if (!Array.isArray(objects) || objects.length === 0 || objects.length > MOST_OBJECTS) {
    throw badRequest(`objects must be a list of 1 to ${MOST_OBJECTS} Endpoints and Services`);
  }
  return objects.map((object: unknown, i) => {
    if (!isRecord(object)) throw badRequest(`objects[${i}] must be Endpoints or a Service`);
    const whole = { apiVersion: 'v1', kind: ENDPOINTS.kind, ...object };
    const { schema } = whole.kind === SERVICE.kind ? SERVICE : ENDPOINTS;
    const [problem] = compileSchema(schema).check(whole);
    const error = problem ?? nameProblem(whole);
    if (error !== undefined) throw badRequest(`objects[${i}].${formatFieldError(error)}`);
    const found = asKubeObject(whole);
    const { metadata } = found;
    return { ...found, metadata: { ...metadata, namespace: metadata.namespace ?? 'default' } };
  });
}

function nameProblem(object: object): FieldError | undefined {
  if (valueAt(object, ['metadata', 'name'])) return undefined;
  return invalid(['metadata', 'name'], '', 'must be the name that the object has');
}
