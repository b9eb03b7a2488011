/** POST of a review: a question about access, answered in `status` with 201 and not stored. */
import {
  type Attributes,
  badRequest,
  CONTROL_FILES,
  type FieldError,
  invalid,
  invalidObject,
  type JsonObject,
  type KubeObject,
  noSuchRoute,
  valueAt,
  withWarnings,
} from '../../apimachinery/index.ts';
import {
  accessStatus,
  askedAttributes,
  askedSubject,
  rulesStatus,
  scopeOf,
  text,
  texts,
  tokenStatus,
  userInfo,
} from '../../auth/index.ts';
import {
  ACCESS_REVIEW,
  compileSchema,
  type Kind,
  LOCAL_ACCESS_REVIEW,
  REVIEWS,
  SELF_ACCESS_REVIEW,
  SELF_REVIEW,
  SELF_RULES_REVIEW,
  TOKEN_REVIEW,
} from '../../kinds/index.ts';
import { decodeObject, stripServerFields } from '../../registry/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { MessageShape } from '../input/protobuf-input.ts';
import { decodeTypedBody } from '../input/typed-body.ts';
import { parseWriteOptions } from '../input/write-options.ts';
import type { Answer } from '../output/answer.ts';
import { header, type ResourceRequest } from '../request.ts';
import { answerForm, objectAnswer } from './shared.ts';

const ASKED: MessageShape = {
  1: [
    'resourceAttributes',
    {
      1: ['namespace'],
      2: ['verb'],
      3: ['group'],
      4: ['version'],
      5: ['resource'],
      6: ['subresource'],
      7: ['name'],
    },
  ],
  2: ['nonResourceAttributes', { 1: ['path'], 2: ['verb'] }],
};

const ASKED_OF_OTHERS: MessageShape = { ...ASKED, 3: ['user'], 4: ['groups', 'strings'] };

/** Fields of reviews in protobuf (k8s.io/api `authorization/v1`, `authentication/v1`). */
const REVIEW_MESSAGES: ReadonlyMap<Kind, MessageShape> = new Map([
  [SELF_ACCESS_REVIEW, withSpec(ASKED)],
  [ACCESS_REVIEW, withSpec(ASKED_OF_OTHERS)],
  [LOCAL_ACCESS_REVIEW, withSpec(ASKED_OF_OTHERS)],
  [SELF_RULES_REVIEW, withSpec({ 1: ['namespace'] })],
  [SELF_REVIEW, {}],
  [TOKEN_REVIEW, withSpec({ 1: ['token'], 2: ['audiences', 'strings'] })],
]);

/** A question and the dependencies that answer it. */
interface Question {
  readonly deps: ServerDependencies;
  readonly request: ResourceRequest;
  readonly spec: JsonObject;
}

type Review = (question: Question) => JsonObject | Promise<JsonObject>;

const ANSWERS: ReadonlyMap<Kind, Review> = new Map<Kind, Review>([
  [SELF_ACCESS_REVIEW, selfAccess],
  [ACCESS_REVIEW, access],
  [LOCAL_ACCESS_REVIEW, localAccess],
  [SELF_RULES_REVIEW, selfRules],
  [SELF_REVIEW, ({ request }) => ({ userInfo: userInfo(request.user) })],
  [TOKEN_REVIEW, token],
]);

export async function handleReview(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  answerForm(deps, request, 'object');
  const { object, warnings } = readReview(request);
  const answer = ANSWERS.get(request.kind);
  if (answer === undefined) throw noSuchRoute();
  requireBareMetadata(request, object);
  const spec = object.spec ?? {};
  const status = await answer({ deps, request, spec });
  return objectAnswer(deps, request, { object: { ...object, status }, warnings }, 201);
}

function readReview(request: ResourceRequest): { object: KubeObject; warnings: string[] } {
  const { kind, info } = request;
  const { value, duplicates } = decodeTypedBody(
    request.body,
    header(request, 'content-type'),
    REVIEW_MESSAGES.get(kind),
  );
  const { fieldValidation } = parseWriteOptions(info.query, 'create');
  const schema = compileSchema(kind.schema);
  const { namespace } = info;
  const of = { kind, schema, fieldValidation, namespace, duplicates, isPatch: false };
  const { object, warnings } = decodeObject(value, of);
  stripServerFields(object);
  const errors = schema.check(object);
  withWarnings(warnings, () => {
    if (errors.length > 0) throw invalidObject(kind, '', errors);
  });
  return { object, warnings };
}

function selfAccess(question: Question): JsonObject {
  const { deps, request } = question;
  return accessStatus(deps.authorizer, request.user, asked(question));
}

/** As in Kubernetes, questions about access have no metadata. */
function requireBareMetadata(request: ResourceRequest, { metadata }: KubeObject): void {
  if (![SELF_ACCESS_REVIEW, ACCESS_REVIEW, LOCAL_ACCESS_REVIEW].includes(request.kind)) return;
  const { namespace: _place, ...rest } = metadata;
  if (Object.keys(rest).length === 0) return;
  throw refused(request, [invalid(['metadata'], rest, 'must be empty')]);
}

function access(question: Question): JsonObject {
  const { deps, request, spec } = question;
  const attributes = asked(question);
  const subject = askedSubject(spec);
  if ('errors' in subject) throw refused(request, subject.errors);
  return accessStatus(deps.authorizer, subject.user, attributes);
}

function localAccess(question: Question): JsonObject {
  const { request, spec } = question;
  const path = ['spec', 'resourceAttributes', 'namespace'];
  const namespace = valueAt(spec, path.slice(1));
  if (spec['nonResourceAttributes'] !== undefined) {
    const detail = 'disallowed on this kind of request';
    const { nonResourceAttributes } = spec;
    throw refused(request, [
      invalid(['spec', 'nonResourceAttributes'], nonResourceAttributes, detail),
    ]);
  }
  if (namespace !== request.info.namespace) {
    throw refused(request, [invalid(path, namespace ?? '', 'must match metadata.namespace')]);
  }
  return access(question);
}

function selfRules({ deps, request, spec }: Question): JsonObject {
  const namespace = text(spec['namespace']);
  if (namespace === undefined) throw badRequest('no namespace on request');
  const kinds = [...deps.kinds.kinds, ...REVIEWS];
  return rulesStatus(deps.rights, request.user, { namespace, kinds });
}

async function token({ deps, spec }: Question): Promise<JsonObject> {
  const audiences = texts(spec['audiences']);
  const shown = text(spec['token']) ?? '';
  if (shown === '') throw badRequest('token is required for TokenReview in authentication');
  // The audience of an access key is this API server, named by its issuer.
  const isForUs = audiences.length === 0 || audiences.includes(deps.tokens.issuer);
  const key = isForUs ? deps.authenticate(shown) : undefined;
  if (key !== undefined && 'user' in key && scopeOf(key.user) !== undefined) {
    const error = 'the access key has a scope, which the answer to a TokenReview cannot carry';
    return { authenticated: false, error };
  }
  if (key !== undefined && 'user' in key) {
    const own = audiences.filter((name) => name === deps.tokens.issuer);
    return {
      authenticated: true,
      user: userInfo(key.user),
      ...(own.length > 0 && { audiences: own }),
    };
  }
  try {
    const claims = await deps.tokens.review(shown, audiences);
    return tokenStatus(claims, audiences);
  } catch {
    // The reason stays hidden: the text of the error may repeat claims.
    return { authenticated: false, error: 'the token is not valid, or not any more' };
  }
}

function asked({ deps, request, spec }: Question): Attributes {
  const canonical = (group: string, plural: string): string =>
    deps.kinds.byPlural(group, plural)?.plural ?? plural;
  const found = askedAttributes(spec, canonical);
  if ('errors' in found) throw refused(request, found.errors);
  return controlFilesAsked(deps.kinds.groups[0] ?? '', found.attributes) ?? found.attributes;
}

/**
 * The right on control files in the form in which kubectl asks for it. Discovery has no such resource,
 * so that kubectl puts the group into the resource or drops it, and reads `repository/controlfiles` as a name.
 */
function controlFilesAsked(group: string, attributes: Attributes): Attributes | undefined {
  if ('path' in attributes || ![group, ''].includes(attributes.group)) return undefined;
  const { verb, resource, subresource, name } = attributes;
  const isRepository = [CONTROL_FILES.resource, `${CONTROL_FILES.resource}.${group}`];
  if (!isRepository.includes(resource)) return undefined;
  if ((subresource || name) !== CONTROL_FILES.subresource) return undefined;
  return { verb, group, ...CONTROL_FILES, namespace: '', name: '' };
}

function refused({ kind }: ResourceRequest, errors: readonly FieldError[]): Error {
  return invalidObject(kind, '', errors);
}

function withSpec(spec: MessageShape): MessageShape {
  return { 2: ['spec', spec] };
}
