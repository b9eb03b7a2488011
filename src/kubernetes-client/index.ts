/** Public names of `kubernetes-client/`. */
export { ApiFailure, hasReason } from './api-failure.ts';
export { accessFromKubeconfig, type ClusterAccess } from './cluster-access.ts';
export { KubeClient, type ListLimits, type ResourceCollection } from './kube-client.ts';
export { objectId, Reflector } from './reflector.ts';
