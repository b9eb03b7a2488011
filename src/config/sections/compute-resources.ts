/**
 * A part of the configuration, with defaults.
 * Generated from schemas/compute-resources.json by `npx tsx scripts/docs.ts`.
 */
/** Compute resources of a container. */
export interface ComputeResourcesConfig {
  /** The most that may be used, by resource name: `cpu: 500m`, `memory: 1Gi`. */
  readonly limits?: Readonly<Record<string, string | number>>;
  /** The least that is needed, by resource name. Takes the limits where it is absent; must not exceed them. */
  readonly requests?: Readonly<Record<string, string | number>>;
  /** Entries of the pod's resource claims that the container uses. */
  readonly claims?: readonly {
    /** Name of an entry in the resource claims of the pod. */
    readonly name: string;
    /** One request within that claim. Empty makes all of the claim available. */
    readonly request?: string;
  }[];
}
