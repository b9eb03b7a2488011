/** Every case, by the file that keeps its verdicts. */
import type { Case } from '../case.ts';
import { APPLIES } from './apply.ts';
import { BUILTIN } from './builtin.ts';
import { DELETIONS } from './deletions.ts';
import { EVENT_CASES } from './events.ts';
import { LEASE_CASES } from './leases.ts';
import { LISTS } from './lists.ts';
import { METADATA } from './metadata.ts';
import { NEGOTIATION } from './negotiation.ts';
import { PATCHES } from './patches.ts';
import { ROUTES } from './routes.ts';
import { WATCHES } from './watches.ts';
import { WRITES } from './writes.ts';

export const CASES: Readonly<Record<string, readonly Case[]>> = {
  routes: ROUTES,
  negotiation: NEGOTIATION,
  lists: LISTS,
  watches: WATCHES,
  writes: WRITES,
  metadata: METADATA,
  patches: PATCHES,
  apply: APPLIES,
  deletions: DELETIONS,
  leases: LEASE_CASES,
  events: EVENT_CASES,
  builtin: BUILTIN,
};
