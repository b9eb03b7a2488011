/**
 * GET `/access/explain`: why a user, team or key may do something, or not. GET `/access/who`: who may do
 * it. Both name the rules that allow it, as far as the caller may read them; others are counted.
 *
 * Questions about the caller itself are free. Others need `create` on `subjectaccessreviews`, as in
 * Kubernetes.
 */
import { type Attributes, noSuchRoute, type User, Yielding } from '../../apimachinery/index.ts';
import { type AccessTrace, isGrantedTo, scopeOf } from '../../auth/index.ts';
import { ACCESS_REVIEW } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { authorizeRequest } from '../filters/access.ts';
import type { Answer } from '../output/answer.ts';
import { EXPLAIN_PATH, WHO_PATH } from '../paths.ts';
import type { ApiRequest } from '../request.ts';
import { type AskedAs, askedAccess, askedAs } from './access-question.ts';
import { TraceView } from './access-traces.ts';
import { documentAnswer } from './document-answer.ts';
import { UserSlots } from './user-slots.ts';
import { Visibility } from './visibility.ts';

const MOST_SUBJECTS = 1000;
const MOST_RUNNING = 16;
const MOST_RUNNING_OF_ONE = 4;
const BETWEEN_LOOKS = 64;

/** Undefined for other paths. */
export function accessRoutes(
  deps: ServerDependencies,
): (request: ApiRequest) => Promise<Answer> | undefined {
  const running = new UserSlots(MOST_RUNNING, MOST_RUNNING_OF_ONE);
  return (request) => {
    const { path, verb } = request.info;
    if (path !== EXPLAIN_PATH && path !== WHO_PATH) return undefined;
    if ((verb !== 'get' && verb !== 'head') || request.user === undefined) throw noSuchRoute();
    return answer(request, request.user);
  };

  async function answer(request: ApiRequest, caller: User): Promise<Answer> {
    const { path, query } = request.info;
    const attributes = askedAccess(deps, query);
    const seen = new Visibility(deps, caller);
    const asked = { caller, attributes, view: new TraceView(deps, seen, attributes) };
    const document = await running.run(caller.name, 'explanations run', () =>
      path === EXPLAIN_PATH
        ? explain(deps, { ...asked, as: askedAs(query) })
        : listSubjects(deps, asked),
    );
    return documentAnswer(request, document);
  }
}

interface Asked {
  readonly caller: User;
  readonly attributes: Attributes;
  readonly view: TraceView;
}

async function explain(
  deps: ServerDependencies,
  { caller, attributes, view, as }: Asked & { readonly as: AskedAs | undefined },
): Promise<object> {
  if (as !== undefined) requireReviews(deps, caller);
  const user = as === undefined ? caller : view.userOf(as);
  const grants: object[] = [];
  let hidden = 0;
  for await (const trace of traces(deps, attributes)) {
    if (!isGrantedTo(trace, user)) continue;
    const shown = view.shown(trace);
    if (shown === undefined) hidden++;
    else grants.push({ ...shown, subject: trace.subject });
  }
  const { allowed, reason } = deps.authorizer.authorize(user, attributes);
  const scope = scopeOf(user);
  const key = user.accessKey === undefined ? {} : { key: user.accessKey };
  const groups = as === undefined ? user.groups : view.visibleGroups(user);
  return {
    kind: 'AccessExplanation',
    subject: { name: user.name, groups, ...key },
    request: attributes,
    allowed,
    // A reason may name a binding that the caller may not read.
    ...(hidden === 0 && reason !== '' ? { reason } : {}),
    grants,
    hidden,
    ...(scope === undefined ? {} : { scope: { allows: scope.allows(attributes) } }),
  };
}

async function listSubjects(
  deps: ServerDependencies,
  { caller, attributes, view }: Asked,
): Promise<object> {
  requireReviews(deps, caller);
  const subjects = new Map<string, { subject: AccessTrace['subject']; grants: object[] }>();
  let hidden = 0;
  let left = 0;
  for await (const trace of traces(deps, attributes)) {
    const shown = view.shown(trace);
    const { kind, name } = trace.subject;
    const id = `${kind}/${name}`;
    if (shown === undefined) hidden++;
    else if (subjects.has(id)) subjects.get(id)?.grants.push(shown);
    else if (subjects.size < MOST_SUBJECTS)
      subjects.set(id, { subject: trace.subject, grants: [shown] });
    else left++;
  }
  const items = [...subjects.values()].map(({ subject, grants }) => ({
    subject,
    ...view.membersOf(subject),
    grants,
  }));
  return {
    kind: 'AccessList',
    request: attributes,
    items,
    hidden,
    ...(left === 0 ? {} : { left }),
  };
}

/** Every grant that allows a request. Yields to other work in between. */
async function* traces(
  { rights }: ServerDependencies,
  attributes: Attributes,
): AsyncGenerator<AccessTrace> {
  const pauses = new Yielding();
  let looked = 0;
  for (const trace of rights.tracesOf(attributes)) {
    if (looked++ % BETWEEN_LOOKS === 0) await pauses.take();
    if (trace !== undefined) yield trace;
  }
}

function requireReviews(deps: ServerDependencies, caller: User): void {
  const { group, plural } = ACCESS_REVIEW;
  const resource = { group, resource: plural, namespace: '', name: '' };
  authorizeRequest(deps, caller, { verb: 'create', ...resource });
}
