/** Who asks for what: the words that authentication, authorization and the registry share. */

/** Verbs of the API; access rules may also name verbs of their own, such as `bind`. */
export type Verb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection';

export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  /** For the author line of commits. */
  readonly email?: string;
  /** Name of the access key that authenticated the request, if one did. */
  readonly accessKey?: string;
  /** Part of the user, so that it cannot get lost on the way of a request; absent: no narrowing. */
  readonly scope?: Narrowing;
}

/** Holds rights below those of the user, as the scope of an access key does. */
export interface Narrowing {
  allows(attributes: Attributes): boolean;
}

/** Members bypass authorization, as in Kubernetes. */
export const SUPERUSER_GROUP = 'system:masters';
export const AUTHENTICATED_GROUP = 'system:authenticated';

export interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  /** Plural name. */
  readonly resource: string;
  readonly subresource?: string;
  /** Empty: every namespace, or a kind that has none. */
  readonly namespace: string;
  /** Empty: the whole collection. */
  readonly name: string;
}

/**
 * The right on the object itself that a subresource stands for which has none of its own; undefined
 * for all others. A history shows no more than the object does, and a rollback writes no more.
 */
export function rightOnObject(subresource: string, verb: string): string | undefined {
  if (verb === 'get' && (subresource === 'history' || subresource === 'status')) return 'get';
  return subresource === 'rollback' && verb === 'create' ? 'update' : undefined;
}

/** Stands for files of the repository that belong to no object and steer all of them. */
export const CONTROL_FILES = { resource: 'repository', subresource: 'controlfiles' } as const;

export interface PathAttributes {
  readonly verb: string;
  readonly path: string;
}

export type Attributes = ResourceAttributes | PathAttributes;

export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

export interface Authorizer {
  authorize(user: User, attributes: Attributes): Decision;
}
