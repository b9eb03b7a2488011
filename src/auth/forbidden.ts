/** How a denial is worded: as the API server of Kubernetes words it, to the letter. */
import {
  type Attributes,
  forbiddenError,
  type StatusError,
  type User,
} from '../apimachinery/index.ts';

/**
 * The message of a 403: `teams.G "t1" is forbidden: User "u" cannot get resource "teams" in API
 * group "G" at the cluster scope`. `reason` is that of the decision, appended when there is one.
 */
export function forbiddenMessage(user: User, attributes: Attributes, reason = ''): string {
  const why = `${cannot(user, attributes)}${reason === '' ? '' : `: ${reason}`}`;
  if ('path' in attributes) return `forbidden: ${why}`;
  const { group, resource, name } = attributes;
  const qualified = group === '' ? resource : `${resource}.${group}`;
  return `${qualified}${name === '' ? '' : ` ${JSON.stringify(name)}`} is forbidden: ${why}`;
}

/** The same as an error to answer with. */
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
