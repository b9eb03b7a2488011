/**
 * Fields in protobuf of the kinds that clients have Go types of, and write in no other form:
 * k8s.io/api `core/v1`, `events/v1`, `coordination/v1` and `rbac/v1`, with what is common to all (apimachinery `meta/v1`).
 */

import {
  CLUSTER_ROLE,
  CLUSTER_ROLE_BINDING,
  CONFIG_MAP,
  CORE_EVENT,
  ENDPOINTS,
  EVENT,
  type Kind,
  LEASE,
  NAMESPACE,
  NEW_EVENT,
  RELEASE,
  ROLE,
  ROLE_BINDING,
  SECRET,
  SERVICE,
} from '../../kinds/index.ts';
import type { MessageShape } from './protobuf-input.ts';

const OWNER: MessageShape = {
  1: ['kind'],
  3: ['name'],
  4: ['uid'],
  5: ['apiVersion'],
  6: ['controller', 'bool'],
  7: ['blockOwnerDeletion', 'bool'],
};
const MANAGED: MessageShape = {
  1: ['manager'],
  2: ['operation'],
  3: ['apiVersion'],
  4: ['time', 'time'],
  6: ['fieldsType'],
  7: ['fieldsV1', 'json'],
  8: ['subresource'],
};
const META: MessageShape = {
  1: ['name'],
  2: ['generateName'],
  3: ['namespace'],
  5: ['uid'],
  6: ['resourceVersion'],
  7: ['generation', 'count'],
  8: ['creationTimestamp', 'time'],
  9: ['deletionTimestamp', 'time'],
  10: ['deletionGracePeriodSeconds', 'int'],
  11: ['labels', 'map'],
  12: ['annotations', 'map'],
  13: ['ownerReferences', [OWNER]],
  14: ['finalizers', 'strings'],
  17: ['managedFields', [MANAGED]],
};

const RULE: MessageShape = {
  1: ['verbs', 'strings'],
  2: ['apiGroups', 'strings'],
  3: ['resources', 'strings'],
  4: ['resourceNames', 'strings'],
  5: ['nonResourceURLs', 'strings'],
};
const EXPRESSION: MessageShape = { 1: ['key'], 2: ['operator'], 3: ['values', 'strings'] };
const SELECTOR: MessageShape = {
  1: ['matchLabels', 'map'],
  2: ['matchExpressions', [EXPRESSION]],
};
const ROLE_FIELDS: MessageShape = { 1: ['metadata', META], 2: ['rules', [RULE]] };
const BINDING_FIELDS: MessageShape = {
  1: ['metadata', META],
  2: ['subjects', [{ 1: ['kind'], 2: ['apiGroup'], 3: ['name'], 4: ['namespace'] }]],
  3: ['roleRef', { 1: ['apiGroup'], 2: ['kind'], 3: ['name'] }],
};

const PORT: MessageShape = {
  1: ['name'],
  2: ['protocol'],
  3: ['port', 'count'],
  4: ['targetPort', 'intOrString'],
  5: ['nodePort', 'count'],
  6: ['appProtocol'],
};
const SERVICE_SPEC: MessageShape = {
  1: ['ports', [PORT]],
  2: ['selector', 'map'],
  3: ['clusterIP'],
  4: ['type'],
  5: ['externalIPs', 'strings'],
  7: ['sessionAffinity'],
  8: ['loadBalancerIP'],
  9: ['loadBalancerSourceRanges', 'strings'],
  10: ['externalName'],
  11: ['externalTrafficPolicy'],
  12: ['healthCheckNodePort', 'count'],
  13: ['publishNotReadyAddresses', 'flag'],
  14: ['sessionAffinityConfig', { 1: ['clientIP', { 1: ['timeoutSeconds', 'int'] }] }],
  17: ['ipFamilyPolicy'],
  18: ['clusterIPs', 'strings'],
  19: ['ipFamilies', 'strings'],
  20: ['allocateLoadBalancerNodePorts', 'bool'],
  21: ['loadBalancerClass'],
  22: ['internalTrafficPolicy'],
  23: ['trafficDistribution'],
};

const REFERENCE: MessageShape = {
  1: ['kind'],
  2: ['namespace'],
  3: ['name'],
  4: ['uid'],
  5: ['apiVersion'],
  6: ['resourceVersion'],
  7: ['fieldPath'],
};
const ADDRESS: MessageShape = {
  1: ['ip'],
  2: ['targetRef', REFERENCE],
  3: ['hostname'],
  4: ['nodeName'],
};
const SUBSET: MessageShape = {
  1: ['addresses', [ADDRESS]],
  2: ['notReadyAddresses', [ADDRESS]],
  3: ['ports', [{ 1: ['name'], 2: ['port', 'count'], 3: ['protocol'], 4: ['appProtocol'] }]],
};

const SERIES: MessageShape = { 1: ['count', 'count'], 2: ['lastObservedTime', 'microTime'] };
const SOURCE: MessageShape = { 1: ['component'], 2: ['host'] };
const EVENT_FIELDS: MessageShape = {
  1: ['metadata', META],
  2: ['involvedObject', REFERENCE],
  3: ['reason'],
  4: ['message'],
  5: ['source', SOURCE],
  6: ['firstTimestamp', 'time'],
  7: ['lastTimestamp', 'time'],
  8: ['count', 'count'],
  9: ['type'],
  10: ['eventTime', 'microTime'],
  11: ['series', SERIES],
  12: ['action'],
  13: ['related', REFERENCE],
  14: ['reportingComponent'],
  15: ['reportingInstance'],
};
const NEW_EVENT_FIELDS: MessageShape = {
  1: ['metadata', META],
  2: ['eventTime', 'microTime'],
  3: ['series', SERIES],
  4: ['reportingController'],
  5: ['reportingInstance'],
  6: ['action'],
  7: ['reason'],
  8: ['regarding', REFERENCE],
  9: ['related', REFERENCE],
  10: ['note'],
  11: ['type'],
  12: ['deprecatedSource', SOURCE],
  13: ['deprecatedFirstTimestamp', 'time'],
  14: ['deprecatedLastTimestamp', 'time'],
  15: ['deprecatedCount', 'count'],
};
const LEASE_SPEC: MessageShape = {
  1: ['holderIdentity', 'said'],
  2: ['leaseDurationSeconds', 'int'],
  3: ['acquireTime', 'microTime'],
  4: ['renewTime', 'microTime'],
  5: ['leaseTransitions', 'int'],
  6: ['strategy'],
  7: ['preferredHolder'],
};

const SECRET_FIELDS: MessageShape = {
  1: ['metadata', META],
  2: ['data', 'bytesMap'],
  3: ['type'],
  4: ['stringData', 'map'],
  5: ['immutable', 'bool'],
};

/** Bodies of POST and PUT in protobuf by kind. Custom resources have no such form. */
export const KIND_MESSAGES: ReadonlyMap<Kind, MessageShape> = new Map([
  [ROLE, ROLE_FIELDS],
  [
    CLUSTER_ROLE,
    { ...ROLE_FIELDS, 3: ['aggregationRule', { 1: ['clusterRoleSelectors', [SELECTOR]] }] },
  ],
  [ROLE_BINDING, BINDING_FIELDS],
  [CLUSTER_ROLE_BINDING, BINDING_FIELDS],
  [NAMESPACE, { 1: ['metadata', META], 2: ['spec', { 1: ['finalizers', 'strings'] }] }],
  [SERVICE, { 1: ['metadata', META], 2: ['spec', SERVICE_SPEC] }],
  [ENDPOINTS, { 1: ['metadata', META], 2: ['subsets', [SUBSET]] }],
  [SECRET, SECRET_FIELDS],
  [RELEASE, SECRET_FIELDS],
  [
    CONFIG_MAP,
    {
      1: ['metadata', META],
      2: ['data', 'map'],
      3: ['binaryData', 'bytesMap'],
      4: ['immutable', 'bool'],
    },
  ],
  [EVENT, EVENT_FIELDS],
  [CORE_EVENT, EVENT_FIELDS],
  [NEW_EVENT, NEW_EVENT_FIELDS],
  [LEASE, { 1: ['metadata', META], 2: ['spec', LEASE_SPEC] }],
]);

/** The body of a DELETE, of every kind. */
export const DELETE_OPTIONS_MESSAGE: MessageShape = {
  1: ['gracePeriodSeconds', 'int'],
  2: ['preconditions', { 1: ['uid'], 2: ['resourceVersion'] }],
  3: ['orphanDependents', 'bool'],
  4: ['propagationPolicy'],
  5: ['dryRun', 'strings'],
};
