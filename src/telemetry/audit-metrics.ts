/** What Prometheus reads about the audit log. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface AuditMetrics {
  readonly events: Counter<'level'>;
  readonly dropped: Counter;
}

/** `inTrouble`: whether the log takes no events now. */
export function createAuditMetrics(registry: Registry, inTrouble: () => boolean): AuditMetrics {
  const registers = [registry];
  new Gauge({
    name: 'gitplane_audit_in_trouble',
    help: '1 while the audit log cannot be opened or written',
    registers,
    collect() {
      this.set(inTrouble() ? 1 : 0);
    },
  });
  return {
    events: new Counter({
      name: 'gitplane_audit_events_total',
      help: 'Events made for the audit log, by level',
      labelNames: ['level'],
      registers,
    }),
    dropped: new Counter({
      name: 'gitplane_audit_dropped_events_total',
      help: 'Events that are in no audit log: it could not be written and too many waited',
      registers,
    }),
  };
}
