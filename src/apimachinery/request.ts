/** Users and request attributes, shared by authentication, authorization and the registry. */

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
  /** Part of the user, so that no code can pass on the user without it. Absent: no narrowing. */
  readonly scope?: Narrowing;
}

/** Limits rights below those of the user, as the scope of an access key does. */
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
 * Verb on the object that allows a subresource without rights of its own. Undefined: the subresource
 * has its own. A history shows no more than the object; a rollback and a write of the text write no more.
 */
export function rightOnObject(subresource: string, verb: string): string | undefined {
  if (verb === 'get' && READ_LIKE_THE_OBJECT.includes(subresource)) return 'get';
  if (subresource === 'source' && verb === 'update') return 'update';
  return subresource === 'rollback' && verb === 'create' ? 'update' : undefined;
}

const READ_LIKE_THE_OBJECT = ['history', 'blame', 'source', 'status'];

/** Authorization resource of files such as `.sops.yaml`: they belong to no object and affect all. */
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
