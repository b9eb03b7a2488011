/** Metrics of the role of a replica. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface RoleSnapshot {
  readonly isLeader: boolean;
  readonly hasLeader: boolean;
  readonly replicas: number;
  /** Terms of this process so far. */
  readonly terms: number;
  /** Duration of the last takeover; undefined: there was none. */
  readonly takeoverSeconds: number | undefined;
  /** Moves of the branch that are not on the disk yet; undefined: there is no mirror. */
  readonly mirrorLag: number | undefined;
  /** Bytes of the commits in etcd; undefined: another replica leads, or not read yet. */
  readonly logBytes: number | undefined;
  /** Number of times that commits left etcd although no other replica had them. */
  readonly forcedTrims: number;
}

/** `look` is called at each scrape. */
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
  gauge('gitplane_leader', '1 while this replica leads, else 0', (of) => Number(of.isLeader));
  gauge(
    'gitplane_has_leader',
    '1 while some replica accepts writes, as far as this one knows, else 0; 0 without etcd',
    (of) => Number(of.hasLeader),
  );
  gauge('gitplane_replicas', 'Replicas that are registered', (of) => of.replicas);
  gauge(
    'gitplane_takeover_seconds',
    'Time from the last election of this replica until it accepted writes',
    (of) => of.takeoverSeconds ?? Number.NaN,
  );
  gauge(
    'gitplane_mirror_lag_moves',
    'Branch updates that are not on the disk of this replica yet',
    (of) => of.mirrorLag ?? Number.NaN,
  );
  gauge(
    'gitplane_repository_log_bytes',
    'Commits stored in etcd, as the leader last read it',
    (of) => of.logBytes ?? Number.NaN,
  );
  new Counter({
    name: 'gitplane_repository_log_forced_trims_total',
    help: 'Removals of commits from etcd while no other replica had them on disk',
    registers,
    collect() {
      this.reset();
      this.inc(look().forcedTrims);
    },
  });
  new Counter({
    name: 'gitplane_terms_total',
    help: 'Elections that this replica won',
    registers,
    collect() {
      this.reset();
      this.inc(look().terms);
    },
  });
}
