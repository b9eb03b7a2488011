/** Kinds of Kubernetes that are state and in no commit, by the API that has them. */
import type { Kind } from '../kind.ts';
import { type KindTable, tableOf } from '../table.ts';
import { CONFIG_MAP } from './config-map.ts';
import { DEFINITION } from './custom-resource-definition.ts';
import { ENDPOINTS } from './endpoints.ts';
import { CORE_EVENT, EVENT, NEW_EVENT } from './event.ts';
import { RELEASE } from './helm-release.ts';
import { LEASE } from './lease.ts';
import { CORE_NAMESPACE, NAMESPACE } from './namespace.ts';
import { SECRET } from './secret.ts';
import { SERVICE } from './service.ts';

/** Kinds of clusters, in the order of discovery: as much of core/v1 as the endpoint sync needs. */
export const CLUSTER_KINDS: readonly Kind[] = [NAMESPACE, SERVICE, ENDPOINTS, SECRET, EVENT];

/** Kinds of the management API that are only in memory. */
export const CORE_KINDS: KindTable = tableOf([CORE_NAMESPACE, CORE_EVENT, NEW_EVENT, DEFINITION]);

/** Kinds of the management API that the platform stores for its clients and does not read itself. */
export const CLIENT_KINDS: KindTable = tableOf([LEASE, RELEASE, CONFIG_MAP]);
