/**
 * Answers to access reviews (Kubernetes: `authorization.k8s.io`, `authentication.k8s.io`). Reviews of
 * the caller take the scope of its key into account; reviews of other users only roles.
 */
import {
  type Attributes,
  type Authorizer,
  type FieldError,
  forbidden,
  invalid,
  isRecord,
  type JsonObject,
  required,
  rightOnObject,
  type User,
} from '../../apimachinery/index.ts';
import type { Kind } from '../../kinds/index.ts';
import { text, texts } from '../fields.ts';
import { scopeOf } from '../scope/scope.ts';
import { EVERY_KEYS_RULES } from './built-in-rights.ts';
import type { PolicyRule } from './policy-rules.ts';
import type { ScopedAuthorizer } from './scoped-authorizer.ts';

/** Maps the plural that a client uses to the one in rules. */
export type CanonicalPlural = (group: string, plural: string) => string;

const ATTRIBUTES = ['resourceAttributes', 'nonResourceAttributes'] as const;

/** Attributes that a review asks about, or the errors in the question. */
export function askedAttributes(
  spec: JsonObject,
  canonical: CanonicalPlural,
): { readonly attributes: Attributes } | { readonly errors: readonly FieldError[] } {
  const [resource, path] = ATTRIBUTES.map((field) => spec[field]);
  if (isRecord(resource) === isRecord(path)) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    return { errors: [invalid(['spec', 'resourceAttributes'], resource ?? null, detail)] };
  }
  if (isRecord(path)) {
    return { attributes: { verb: text(path['verb']) ?? '', path: text(path['path']) ?? '' } };
  }
  const asked = isRecord(resource) ? resource : {};
  const errors = SELECTORS.flatMap((field) => selectorErrors(asked[field], field));
  return errors.length > 0 ? { errors } : { attributes: resourceAttributes(asked, canonical) };
}

const SELECTORS = ['fieldSelector', 'labelSelector'] as const;
const WITH_VALUES = ['In', 'NotIn'];
const WITHOUT_VALUES = ['Exists', 'DoesNotExist'];

/** Problems of a selector in the question, as Kubernetes reports them. */
function selectorErrors(selector: unknown, field: (typeof SELECTORS)[number]): FieldError[] {
  if (!isRecord(selector)) return [];
  const path = ['spec', 'resourceAttributes', field];
  const raw = text(selector['rawSelector']) ?? '';
  const requirements = Array.isArray(selector['requirements']) ? selector['requirements'] : [];
  if (raw !== '' && requirements.length > 0) {
    const detail = 'may not specified at the same time as requirements';
    return [invalid([...path, 'rawSelector'], raw, detail)];
  }
  if (raw === '' && requirements.length === 0) {
    const detail = `when ${path.join('.')} is specified, requirements or rawSelector is required`;
    return [required([...path, 'requirements'], detail)];
  }
  return requirements.flatMap((one, index) => {
    const { key, operator, values } = isRecord(one) ? one : {};
    const at = [...path, 'requirements', index];
    const hasValues = texts(values).length > 0;
    const known = [...WITH_VALUES, ...WITHOUT_VALUES].includes(String(operator));
    return [
      ...(text(key) ? [] : [required([...at, 'key'], 'must be specified')]),
      ...(known
        ? []
        : [invalid([...at, 'operator'], operator ?? '', 'not a valid selector operator')]),
      ...(WITH_VALUES.includes(String(operator)) && !hasValues
        ? [required([...at, 'values'], "must be specified when `operator` is 'In' or 'NotIn'")]
        : []),
      ...(WITHOUT_VALUES.includes(String(operator)) && hasValues
        ? [
            forbidden(
              [...at, 'values'],
              "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
          ]
        : []),
    ];
  });
}

function resourceAttributes(
  asked: Readonly<Record<string, unknown>>,
  canonical: CanonicalPlural,
): Attributes {
  const of = (field: string): string => text(asked[field]) ?? '';
  const [verb, group, subresource] = [of('verb'), of('group'), of('subresource')];
  const [plural, namespace, name] = [of('resource'), of('namespace'), of('name')];
  const resource = canonical(group, plural);
  const right = rightOnObject(subresource, verb);
  if (right !== undefined) return { verb: right, group, resource, namespace, name };
  return { verb, group, resource, subresource, namespace, name };
}

/** `status` of an access review. */
export function accessStatus(
  authorizer: Authorizer,
  user: User,
  attributes: Attributes,
): JsonObject {
  const { allowed, reason } = authorizer.authorize(user, attributes);
  return { allowed, ...(reason === '' ? {} : { reason }) };
}

/** User that a SubjectAccessReview names, with only the groups that it names. */
export function askedSubject(
  spec: JsonObject,
): { readonly user: User } | { readonly errors: readonly FieldError[] } {
  const [name, groups] = [text(spec['user']) ?? '', texts(spec['groups'])];
  if (name !== '' || groups.length > 0) return { user: { name, groups } };
  const detail = 'at least one of user or group must be specified';
  return { errors: [invalid(['spec', 'user'], name, detail)] };
}

/**
 * `status` of a SelfSubjectRulesReview. Without a scope it lists the rules of roles, as Kubernetes does.
 * With a scope it computes the rules kind by kind, so that nothing is listed that the scope removes;
 * unknown kinds are left out, and all of them for a scope of too many parts.
 */
export function rulesStatus(
  rights: ScopedAuthorizer,
  user: User,
  { namespace, kinds }: { readonly namespace: string; readonly kinds: readonly Kind[] },
): JsonObject {
  const scope = scopeOf(user);
  const scoped = scope !== undefined;
  const listed = scope?.isListable === false ? [] : kinds;
  const rules = scope?.isListable === false ? [] : rights.rulesFor(user, namespace);
  const resourceRules = scoped
    ? [...EVERY_KEYS_RULES, ...listed.flatMap((kind) => rulesOn(rights, user, { kind, namespace }))]
    : rules;
  const pathRules = scoped ? [...EVERY_KEYS_RULES, ...rules] : rules;
  return {
    resourceRules: resourceRules.filter(({ resources }) => resources.length > 0).map(onResources),
    nonResourceRules: pathRules
      .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({
        verbs: [...verbs],
        nonResourceURLs: [...nonResourceURLs],
      })),
    incomplete: scoped,
    ...(scope === undefined ? {} : { evaluationError: scope.isListable ? OTHER_KINDS : TOO_LARGE }),
  };
}

const OTHER_KINDS = 'the access key has a scope; rights on other kinds are left out';
const TOO_LARGE = 'the access key has a scope of too many parts; its rights are left out';

function rulesOn(
  rights: ScopedAuthorizer,
  user: User,
  { kind, namespace }: { kind: Kind; namespace: string },
): PolicyRule[] {
  const where = kind.scope === 'Namespaced' ? namespace : '';
  return rights.rulesAt(user, { group: kind.group, resource: kind.plural, namespace: where });
}

function onResources({ verbs, apiGroups, resources, resourceNames }: PolicyRule): JsonObject {
  return {
    verbs: [...verbs],
    apiGroups: [...apiGroups],
    resources: [...resources],
    ...(resourceNames.length === 0 ? {} : { resourceNames: [...resourceNames] }),
  };
}

const KEY_NAME = 'gitplane.dev/access-key';
const KEY_SCOPE = 'gitplane.dev/access-key-scope';

/** `status.userInfo` of a SelfSubjectReview. */
export function userInfo(user: User): JsonObject {
  const { name, uid, groups, accessKey } = user;
  const scope = scopeOf(user)?.source;
  const extra = {
    ...(accessKey === undefined ? {} : { [KEY_NAME]: [accessKey] }),
    ...(scope === undefined ? {} : { [KEY_SCOPE]: [JSON.stringify(scope)] }),
  };
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups: [...groups],
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** `status` of a TokenReview of a valid token, from its claims. */
export function tokenStatus(
  claims: Readonly<Record<string, unknown>>,
  audiences: readonly string[],
): JsonObject {
  const { sub, groups, aud, jti, gitplane } = claims;
  const uid = isRecord(gitplane) ? text(gitplane['uid']) : undefined;
  const own = typeof aud === 'string' ? [aud] : texts(aud);
  return {
    authenticated: true,
    user: {
      username: String(sub),
      ...(uid === undefined ? {} : { uid }),
      groups: texts(groups),
      extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${String(jti)}`] },
    },
    audiences: own.filter((name) => audiences.length === 0 || audiences.includes(name)),
  };
}
