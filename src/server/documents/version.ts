/**
 * `/version`. Clients and the kubectl dispatcher read a Kubernetes version from it and behave as they
 * do with that version. The version of gitplane follows the plus sign.
 */

const KUBERNETES_MINOR = 32;

export interface BuildInfo {
  /** Of gitplane: `0.1.0`. */
  readonly version: string;
  /** As `process` has them. */
  readonly nodeVersion: string;
  readonly platform: string;
}

export function versionDocument({ version, nodeVersion, platform }: BuildInfo): object {
  return {
    major: '1',
    minor: String(KUBERNETES_MINOR),
    gitVersion: `v1.${KUBERNETES_MINOR}.0+gitplane.${version}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: nodeVersion,
    compiler: 'node',
    platform,
  };
}
