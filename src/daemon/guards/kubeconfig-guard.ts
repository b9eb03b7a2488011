/** A tenant whose kubeconfig is in a SharedSecret takes the right to read that SharedSecret. */
import { type Authorizer, forbiddenError } from '../../apimachinery/index.ts';
import { settingsOf } from '../../kinds/index.ts';
import type { Guard } from '../../registry/index.ts';

/** The sync acts with the rights of the kubeconfig, so naming it is as powerful as holding it. */
export function kubeconfigGuard(authorizer: Authorizer): Guard {
  return ({ user, kind, object }) => {
    if (object === undefined || kind.storedIn !== 'file') return undefined;
    const { source, target } = settingsOf(object);
    for (const { sharedSecret } of [source, target].flatMap((end) => end ?? [])) {
      if (sharedSecret === undefined) continue;
      const { namespace, name } = sharedSecret;
      const asked = { verb: 'get', group: kind.group, resource: 'sharedsecrets', namespace, name };
      if (authorizer.authorize(user, asked).allowed) continue;
      const own = object.metadata.name ?? '';
      return forbiddenError(
        `${kind.plural}.${kind.group} ${JSON.stringify(own)} is forbidden: User ${JSON.stringify(user.name)} cannot get SharedSecret "${namespace}/${name}", whose kubeconfig it names`,
        kind,
        own,
      );
    }
    return undefined;
  };
}
