/** An outage of the whole store: one reason for all secrets that could not be read. */
import type { Finding } from './conditions.ts';

export type Outage = Extract<Finding, { readonly is: 'unavailable' }>;

export interface Cycle {
  readonly findings: ReadonlyMap<string, Finding>;
  /** The finding of every secret that could not be read. */
  readonly outage: Outage | undefined;
}

/**
 * `Unavailable` (the client backs off) is not a cause. The cause is the failure that `began` the
 * outage, that of a secret, or the one `known` before.
 */
export function withCause(
  findings: ReadonlyMap<string, Finding>,
  [began, known]: readonly [began: Outage | undefined, known: Outage | undefined],
): Cycle {
  const outages = [...findings.values()].filter((finding) => finding.is === 'unavailable');
  const all = began === undefined ? outages : [began, ...outages];
  const own = all.find(({ reason }) => reason !== 'Unavailable');
  const outage = all.length === 0 ? undefined : (own ?? known ?? all[0]);
  if (outage === undefined) return { findings, outage };
  const told = [...findings].map(([id, finding]): [string, Finding] => [
    id,
    finding.is === 'unavailable' ? outage : finding,
  ]);
  return { findings: new Map(told), outage };
}
