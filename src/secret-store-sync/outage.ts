/** The store as a whole does not answer: one reason for all secrets that could not be asked for. */
import type { Finding } from './conditions.ts';

export type Outage = Extract<Finding, { readonly is: 'unavailable' }>;

export interface Cycle {
  readonly findings: ReadonlyMap<string, Finding>;
  /** What every secret met that could not be asked for. */
  readonly outage: Outage | undefined;
}

/**
 * That a store is left alone for a while is no reason of its own: the cause is what `began` the
 * outage, what a secret met, or what was `known` before.
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

/** What goes wrong before any secret is asked for is about all of them. */
export function asOutage(finding: Finding): Outage {
  if (finding.is === 'unavailable') return finding;
  const { reason, message } = finding.is === 'failed' ? finding : { reason: '', message: '' };
  return { is: 'unavailable', reason, message };
}
