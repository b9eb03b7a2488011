/** Fields in protobuf of the kinds that kubectl creates in no other form (k8s.io/api `core/v1`). */
import { NAMESPACE } from '../../kinds/cluster-kinds.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { MessageShape } from './protobuf-input.ts';

const META: MessageShape = {
  1: ['name'],
  2: ['generateName'],
  11: ['labels', 'map'],
  12: ['annotations', 'map'],
};

/** kubectl 1.32 and later: `kubectl create namespace`. */
export const CLUSTER_MESSAGES: ReadonlyMap<Kind, MessageShape> = new Map([
  [NAMESPACE, { 1: ['metadata', META] }],
]);
