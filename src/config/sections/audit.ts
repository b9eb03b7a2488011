/**
 * A part of the configuration, with defaults.
 * Generated from schemas/audit.json by `npx tsx scripts/docs.ts`.
 */
import type { AuditResourcesConfig } from './audit-resources.ts';

/** The audit log. */
export interface AuditConfig {
  /** If true, requests are logged according to the policy. */
  readonly enabled?: boolean;
  /** If true, agents do not send their audit logs to the platform. */
  readonly disableAgentSyncBack?: boolean;
  /** Prepared policy, from 1 (little) to 4 (bodies of requests and answers); 0 is none. Not together with `policy`. */
  readonly level?: number;
  /** Selection of the logged requests. Without a policy nothing is logged. */
  readonly policy?: {
    /** The first rule that matches a request decides. A request that none matches is not logged. */
    readonly rules?: readonly AuditRule[];
    /** Stages that no event is made for. */
    readonly omitStages?: readonly (
      | 'RequestReceived'
      | 'ResponseStarted'
      | 'ResponseComplete'
      | 'Panic'
    )[];
  };
  /** Address of the event database, credentials included. `$NAME` takes it from the environment. */
  readonly dataStoreEndpoint?: string;
  /** Hours for which the data store retains events. */
  readonly dataStoreTTL?: number;
  /** Directory or file of the log. Needed when auditing is enabled. Older files stay beside it. */
  readonly path?: string;
  /** Days for which older files are retained, by the time in their name. Absent: no limit. */
  readonly maxAge?: number;
  /** Number of older files that are retained. Absent: all. */
  readonly maxBackups?: number;
  /** Megabytes at which a new file begins. */
  readonly maxSize: number;
  /** If true, older files are compressed with gzip. */
  readonly compress: boolean;
}

/** Logged requests, and the parts of them that are logged. */
export interface AuditRule {
  /** Level of detail. */
  readonly level: 'None' | 'Metadata' | 'Request' | 'RequestResponse';
  /** User names. Empty means everyone. */
  readonly users?: readonly string[];
  /** Groups of the user. Empty means all. */
  readonly userGroups?: readonly string[];
  /** Verbs. Empty means every verb. */
  readonly verbs?: readonly string[];
  /** Kinds of resources. Empty means every kind. */
  readonly resources?: readonly AuditResourcesConfig[];
  /** Namespaces. The empty text stands for objects that have none; an empty list means every namespace. */
  readonly namespaces?: readonly string[];
  /** URL paths. `*` is allowed only as the whole last step. */
  readonly nonResourceURLs?: readonly string[];
  /** Stages that no event is made for, in addition to those of the policy. */
  readonly omitStages?: readonly (
    | 'RequestReceived'
    | 'ResponseStarted'
    | 'ResponseComplete'
    | 'Panic'
  )[];
  /** Targets of requests. Empty means all. */
  readonly requestTargets?: readonly (
    | 'Management'
    | 'Cluster'
    | 'VCluster'
    | 'ProjectSpace'
    | 'ProjectVCluster'
  )[];
  /** Clusters. If set, only requests to these clusters are logged. Empty means no restriction. */
  readonly clusters?: readonly string[];
}
