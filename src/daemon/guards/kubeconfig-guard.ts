/** A tenant whose kubeconfig is in a SharedSecret takes the right to read that SharedSecret. */
import { forbiddenError, type User } from '../../apimachinery/index.ts';
import { type RuleSource, uncoveredRules } from '../../auth/index.ts';
import { settingsOf } from '../../kinds/index.ts';
import type { Guard } from '../../registry/index.ts';

/**
 * The sync acts with the rights of the kubeconfig, so naming it is as powerful as holding it. The tenant names it for
 * as long as it is there, whichever secret has the name: what the owner and the access rules of one secret give is
 * not enough, as that is over with this one.
 */
export function kubeconfigGuard(rights: Pick<RuleSource, 'rulesFor'>): Guard {
  return ({ user, kind, object }) => {
    if (object === undefined || kind.storedIn !== 'file') return undefined;
    const { source, target } = settingsOf(object);
    for (const { sharedSecret } of [source, target].flatMap((end) => end ?? [])) {
      if (sharedSecret === undefined) continue;
      const { namespace, name } = sharedSecret;
      if (mayGet(user, namespace, name, kind.group)) continue;
      const own = object.metadata.name ?? '';
      return forbiddenError(
        `${kind.plural}.${kind.group} ${JSON.stringify(own)} is forbidden: User ${JSON.stringify(user.name)} cannot get SharedSecret "${namespace}/${name}" by a role, and its kubeconfig is named; what its owner and access rules give does not count`,
        kind,
        own,
      );
    }
    return undefined;
  };

  function mayGet(user: User, namespace: string, name: string, group: string): boolean {
    const wanted = {
      verbs: ['get'],
      apiGroups: [group],
      resources: ['sharedsecrets'],
      resourceNames: [name],
      nonResourceURLs: [],
    };
    return uncoveredRules(rights.rulesFor(user, namespace), [wanted]).length === 0;
  }
}
