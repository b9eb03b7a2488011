/** What Prometheus reads of the role of a replica. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface RoleSnapshot {
  readonly isLeader: boolean;
  readonly hasLeader: boolean;
  readonly replicas: number;
  /** Terms of this process so far. */
  readonly terms: number;
  /** How long the last one took to begin; undefined: there was none. */
  readonly takeoverSeconds: number | undefined;
  /** Moves of the branch that are not on the disk yet; undefined: there is no mirror. */
  readonly mirrorLag: number | undefined;
  /** Of the commits that etcd has; undefined: somebody else leads, or it was not looked at yet. */
  readonly logBytes: number | undefined;
  /** How often commits left etcd although no other replica had them. */
  readonly forcedTrims: number;
}

/** `look` is asked at each scrape. */
export function createRoleMetrics(registry: Registry, look: () => RoleSnapshot): void {
  const registers = [registry];
  const gauge = (name: string, help: string, value: (of: RoleSnapshot) => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value(look()));
      },
    });
  };
  gauge('gitplane_leader', 'Whether this replica leads: 1 or 0', (of) => Number(of.isLeader));
  gauge('gitplane_has_leader', 'Whether any replica takes writes, as far as is known here', (of) =>
    Number(of.hasLeader),
  );
  gauge('gitplane_replicas', 'Replicas that are registered', (of) => of.replicas);
  gauge(
    'gitplane_takeover_seconds',
    'From the election of this replica until it took writes, the last time',
    (of) => of.takeoverSeconds ?? Number.NaN,
  );
  gauge(
    'gitplane_mirror_lag_moves',
    'Moves of the branch that the disk of this replica does not have yet',
    (of) => of.mirrorLag ?? Number.NaN,
  );
  gauge(
    'gitplane_repository_log_bytes',
    'Commits that are kept in etcd, as the leader last saw it',
    (of) => of.logBytes ?? Number.NaN,
  );
  new Counter({
    name: 'gitplane_repository_log_forced_trims_total',
    help: 'How often commits left etcd although no other replica had them on its disk',
    registers,
    collect() {
      this.reset();
      this.inc(look().forcedTrims);
    },
  });
  new Counter({
    name: 'gitplane_terms_total',
    help: 'How often this replica began to lead',
    registers,
    collect() {
      this.reset();
      this.inc(look().terms);
    },
  });
}
