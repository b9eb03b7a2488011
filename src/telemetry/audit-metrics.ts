/** Metrics of the audit log. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface AuditFigures {
  /** Made since the start, by level. */
  readonly events: ReadonlyMap<string, number>;
  /** Logs by name: `file`, `store`. */
  readonly sinks: Readonly<
    Record<
      string,
      {
        readonly written: number;
        readonly dropped: number;
        readonly failures: ReadonlyMap<string, number>;
        readonly waitingBytes: number;
        readonly inTrouble: boolean;
      }
    >
  >;
}

/** Counted where it happens, many times a second, and only read here. */
export function createAuditMetrics(registry: Registry, figures: () => AuditFigures): void {
  const registers = [registry];
  const sinks = (): [string, AuditFigures['sinks'][string]][] => Object.entries(figures().sinks);
  new Gauge({
    name: 'gitplane_audit_in_trouble',
    help: '1 while the audit log cannot be opened or written',
    labelNames: ['sink'],
    registers,
    collect() {
      for (const [sink, { inTrouble }] of sinks()) this.set({ sink }, inTrouble ? 1 : 0);
    },
  });
  new Gauge({
    name: 'gitplane_audit_waiting_bytes',
    help: 'Bytes of events waiting to be written to the audit log',
    labelNames: ['sink'],
    registers,
    collect() {
      for (const [sink, { waitingBytes }] of sinks()) this.set({ sink }, waitingBytes);
    },
  });
  new Counter({
    name: 'gitplane_audit_events_total',
    help: 'Events created for the audit log, by level; relayed: received from other replicas',
    labelNames: ['level'],
    registers,
    collect() {
      this.reset();
      for (const [level, count] of figures().events) this.inc({ level }, count);
    },
  });
  new Counter({
    name: 'gitplane_audit_written_events_total',
    help: 'Events written to the audit log',
    labelNames: ['sink'],
    registers,
    collect() {
      this.reset();
      for (const [sink, { written }] of sinks()) this.inc({ sink }, written);
    },
  });
  new Counter({
    name: 'gitplane_audit_dropped_events_total',
    help: 'Events dropped because the audit log could not be written and the queue was full',
    labelNames: ['sink'],
    registers,
    collect() {
      this.reset();
      for (const [sink, { dropped }] of sinks()) this.inc({ sink }, dropped);
    },
  });
  new Counter({
    name: 'gitplane_audit_write_failures_total',
    help: 'Failed writes to the audit log, by error code of the system or the database',
    labelNames: ['sink', 'code'],
    registers,
    collect() {
      this.reset();
      for (const [sink, { failures }] of sinks()) {
        for (const [code, count] of failures) this.inc({ sink, code }, count);
      }
    },
  });
}
