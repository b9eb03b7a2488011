/** Messages of denials, word for word as the API server of Kubernetes writes them. */
import {
  type Attributes,
  forbiddenError,
  type StatusError,
  type User,
} from '../../apimachinery/index.ts';

/**
 * Message of a 403: `teams.G "t1" is forbidden: User "u" cannot get resource "teams" in API group "G" at
 * the cluster scope`. The `reason` of the decision is appended, if any.
 */
export function forbiddenMessage(user: User, attributes: Attributes, reason = ''): string {
  const why = `${cannot(user, attributes)}${reason === '' ? '' : `: ${reason}`}`;
  if ('path' in attributes) return `forbidden: ${why}`;
  const { group, resource, name } = attributes;
  const qualified = group === '' ? resource : `${resource}.${group}`;
  return `${qualified}${name === '' ? '' : ` ${JSON.stringify(name)}`} is forbidden: ${why}`;
}

/** The 403 of a denial. */
export function forbidden(user: User, attributes: Attributes, reason = ''): StatusError {
  const message = forbiddenMessage(user, attributes, reason);
  if ('path' in attributes) return forbiddenError(message);
  const { group, resource: plural, name } = attributes;
  return forbiddenError(message, { group, plural, kind: '' }, name);
}

function cannot(user: User, attributes: Attributes): string {
  const who = `User ${JSON.stringify(user.name)} cannot ${attributes.verb}`;
  if ('path' in attributes) return `${who} path ${JSON.stringify(attributes.path)}`;
  const { group, namespace, subresource = '' } = attributes;
  const resource = `${attributes.resource}${subresource === '' ? '' : `/${subresource}`}`;
  const scope =
    namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const what = `resource ${JSON.stringify(resource)} in API group ${JSON.stringify(group)}`;
  return `${who} ${what} ${scope}`;
}
