/** Deleting: finalizers, preconditions, policies (Kubernetes API, sections 2.12 and 2.13). */
import { type Case, SECRETS, secret, TEAMS, team } from '../case.ts';

const HELD = { finalizers: ['example.com/hold'] };
const STRANGER = '00000000-0000-4000-8000-000000000000';

export const DELETIONS: readonly Case[] = [
  {
    name: 'a deletion answers with a Status',
    run: async (api) => {
      await api.quietly('POST', TEAMS, team('del'));
      await api.delete(`${TEAMS}/del`);
      await api.delete(`${TEAMS}/del`);
      await api.get(`${TEAMS}/del`);
      await api.quietly('POST', SECRETS, secret('del'));
      await api.delete(`${SECRETS}/del`, { kind: 'DeleteOptions', apiVersion: 'v1' });
    },
  },
  // covers: metadata.finalizers metadata.finalizers.onlyRemoved states.blocked
  {
    name: 'a finalizer holds, and lets go',
    run: async (api) => {
      const path = `${TEAMS}/held`;
      await api.post(TEAMS, team('held', {}, HELD));
      await api.delete(path);
      await api.delete(path);
      await api.get(path);
      await api.post(TEAMS, team('held'));
      await api.merge(path, { metadata: { labels: { a: 'b' } } });
      await api.merge(path, { spec: { displayName: 'late' } });
      await api.merge(path, { metadata: { finalizers: ['example.com/hold', 'example.com/new'] } });
      await api.merge(path, { metadata: { finalizers: [] } });
      await api.get(path);
    },
  },
  {
    name: 'preconditions hold, or the object stays',
    run: async (api) => {
      const path = `${TEAMS}/kept`;
      const made = await api.quietly('POST', TEAMS, team('kept'));
      const { uid, resourceVersion } = made.metadata;
      await api.delete(path, { preconditions: { uid: STRANGER } });
      await api.quietly(
        'PATCH',
        path,
        { spec: { displayName: 'x' } },
        'application/merge-patch+json',
      );
      await api.delete(path, { preconditions: { resourceVersion } });
      await api.delete(path, { preconditions: { uid, resourceVersion: 'abc' } });
      await api.delete(path, { preconditions: { uid } });
    },
  },
  {
    name: 'options of a deletion',
    run: async (api) => {
      await api.quietly('POST', TEAMS, team('opts'));
      const path = `${TEAMS}/opts`;
      for (const options of [
        { propagationPolicy: 'Sideways' },
        { propagationPolicy: 'Orphan', orphanDependents: true },
        { dryRun: ['Some'] },
        { gracePeriodSeconds: 'x' },
        { kind: 'Team', apiVersion: 'v1' },
      ]) {
        await api.delete(path, options);
      }
      await api.code({ method: 'DELETE', path, body: '[]' });
      await api.code({ method: 'DELETE', path, body: '{', type: 'application/json' });
      await api.code({ method: 'DELETE', path, body: '{}', type: 'text/plain' });
      await api.delete(`${path}?propagationPolicy=Sideways`);
      await api.delete(`${path}?dryRun=All&propagationPolicy=Background`);
      await api.code({
        method: 'DELETE',
        path: `${path}?dryRun=All`,
        body: 'dryRun: [All]',
        type: 'application/yaml',
      });
      await api.get(path);
    },
  },
  {
    name: 'policies become finalizers',
    run: async (api) => {
      for (const policy of ['Foreground', 'Background', 'Orphan']) {
        const name = `policy-${policy.toLowerCase()}`;
        await api.quietly('POST', TEAMS, team(name, {}, HELD));
        await api.delete(`${TEAMS}/${name}`, { propagationPolicy: policy });
        await api.delete(`${TEAMS}/${name}`, { propagationPolicy: 'Background' });
        await api.merge(`${TEAMS}/${name}`, { metadata: { finalizers: null } });
      }
      await api.quietly('POST', TEAMS, team('policy-old', {}, HELD));
      await api.delete(`${TEAMS}/policy-old?orphanDependents=false`);
      await api.merge(`${TEAMS}/policy-old`, { metadata: { finalizers: null } });
    },
  },
  // covers: metadata.deletionTimestamp.shortened metadata.deletionGracePeriodSeconds
  {
    name: 'a grace period',
    run: async (api) => {
      await api.quietly('POST', TEAMS, team('grace', {}, HELD));
      await api.delete(`${TEAMS}/grace`, { gracePeriodSeconds: 60 });
      await api.delete(`${TEAMS}/grace`, { gracePeriodSeconds: 0 });
      await api.merge(`${TEAMS}/grace`, { metadata: { finalizers: null } });
      await api.quietly('POST', TEAMS, team('grace-0'));
      await api.delete(`${TEAMS}/grace-0`, { gracePeriodSeconds: 0 });
    },
  },
  {
    name: 'a collection is deleted by selectors',
    run: async (api) => {
      for (const name of ['many-a', 'many-b', 'many-c']) {
        const labels = { many: name < 'many-c' ? 'yes' : 'no' };
        await api.quietly('POST', SECRETS, secret(name, {}, { labels }));
      }
      await api.delete(`${SECRETS}?labelSelector=many%3Dyes&dryRun=All`);
      await api.delete(`${SECRETS}?labelSelector=many%3Dyes`);
      await api.delete(`${SECRETS}?labelSelector=many%3Dyes`);
      await api.delete(`${SECRETS}?fieldSelector=metadata.name%3Dmany-c`, {
        gracePeriodSeconds: 0,
      });
      await api.delete(`${SECRETS}?labelSelector=a%20b`);
      await api.delete(`${SECRETS}?fieldSelector=spec.x%3Dy`);
    },
  },
];
