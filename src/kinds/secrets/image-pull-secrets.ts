/** `spec.imagePullSecrets` of teams and users (spec section 2.4): references to secrets with credentials. */
import { type KubeObject, listAt } from '../../apimachinery/index.ts';
import type { Dependency } from '../kind.ts';

interface SecretRef {
  readonly apiGroup?: string;
  readonly kind?: string;
  readonly secretName?: string;
  readonly secretNamespace?: string;
}

const REFS = ['spec', 'imagePullSecrets'];
const EFFECT = 'images are pulled without it';

/** An absent kind and group mean a Secret of the core group, as in Kubernetes. */
export function pullSecretDependencies(object: KubeObject): Dependency[] {
  const refs = listAt<SecretRef>(object, REFS);
  return refs.map(({ apiGroup: group = '', kind, secretName, secretNamespace }, index) => ({
    path: [...REFS, String(index)],
    group,
    kind: kind || 'Secret',
    name: secretName ?? '',
    namespace: secretNamespace || 'default',
    effect: EFFECT,
  }));
}
