/**
 * A part of the configuration, with defaults.
 * Generated from schemas/cost-control.json by `npx tsx scripts/docs.ts`.
 */
import type { ComputeResourcesConfig } from './compute-resources.ts';

/** The dashboard of costs and savings. */
export interface CostControlConfig {
  /** If true, the dashboard is shown and its metrics are collected. */
  readonly enabled?: boolean;
  /** Components that run once for the platform. */
  readonly global?: {
    /** Collects the metrics of all connected clusters. */
    readonly metrics?: CostControlMetrics;
  };
  /** Components that run in each connected cluster; a cluster may override it. */
  readonly cluster?: {
    /** Collects the metrics of the cluster. */
    readonly metrics?: CostControlMetrics;
    /** Computes the costs of the cluster. */
    readonly costBackend?: {
      /** Number of replicas. */
      readonly replicas?: number;
      /** Compute resources of a container. */
      readonly resources?: ComputeResourcesConfig;
    };
  };
  /** Prices to calculate with. */
  readonly settings?: {
    /** Currency of all prices. */
    readonly priceCurrency?: string;
    /** Average price of the processors of a node. */
    readonly averageCPUPricePerNode?: CostControlPrice;
    /** Average price of the memory of a node. */
    readonly averageRAMPricePerNode?: CostControlPrice;
    /** Graphics processors. */
    readonly gpuSettings?: {
      /** If true, the dashboard shows graphics processors. */
      readonly enabled?: boolean;
      /** Average price of a graphics processor. */
      readonly averageGPUPrice?: CostControlPrice;
    };
    /** Price of the control plane of one cluster. */
    readonly controlPlanePricePerCluster?: CostControlPrice;
  };
}

/** A price for a span of time. */
export interface CostControlPrice {
  /** The amount. */
  readonly price?: number;
  /** The span of time, such as `Monthly`. */
  readonly timePeriod?: string;
}

/** Storage of metrics. */
export interface CostControlMetrics {
  /** Number of replicas. */
  readonly replicas?: number;
  /** Compute resources of a container. */
  readonly resources?: ComputeResourcesConfig;
  /** Retention of metrics, as in `30d` or `1y`. */
  readonly retention: string;
  /** The volume that holds the metrics. */
  readonly storage?: {
    /** Storage class. `-` or empty turns dynamic provisioning off; absent or null takes the default of the cluster. */
    readonly storageClass?: string | null;
    /** Size of the volume, as in `50Gi`. */
    readonly size?: string;
  };
}
