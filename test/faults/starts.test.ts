/**
 * Three replicas that start at the same moment on an empty etcd, again and again: one makes the
 * platform, and all of them serve. Only with the long runs; GITPLANE_FAULTS_STARTS says how often.
 */
import { expect, test } from 'vitest';
import { ETCD_MISSING } from '../support/etcd.ts';
import { startReplicas } from '../support/replicas.ts';
import { isLong, say } from './budget.ts';
import { Asker } from './replicas/ask.ts';
import { TEAMS } from './replicas/scene.ts';

const STARTS = Number(process.env['GITPLANE_FAULTS_STARTS'] ?? 10);
const EACH_MS = 90_000;

test.skipIf(ETCD_MISSING !== undefined || !isLong)(
  `${STARTS} times three replicas start at once on an empty etcd, and all serve the same`,
  async () => {
    const times: number[] = [];
    for (let start = 1; start <= STARTS; start++) {
      const begun = performance.now();
      const set = await startReplicas({ args: ['--log-level', 'debug'], patienceMs: EACH_MS });
      times.push(Math.round(performance.now() - begun));
      const asker = new Asker();
      const { token } = set;
      const lists = await Promise.all(
        set.replicas.map((replica) => asker.ask(replica, { path: TEAMS, token })),
      );
      asker.close();
      expect(new Set(lists.map(({ text }) => text)).size, set.output()).toBe(1);
      expect(lists.map(({ code }) => code)).toEqual([200, 200, 200]);
      await set.stop();
    }
    times.sort((a, b) => a - b);
    const at = (part: number) => times[Math.min(times.length - 1, Math.floor(part * times.length))];
    say(
      `${STARTS} starts of three replicas: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, longest ${at(1)} ms`,
    );
  },
  STARTS * EACH_MS + 10_000,
);
