/** JSON patches and merge patches (Kubernetes API, section 2.10). */
import { type Case, TEAMS, team } from '../case.ts';

const ONE = `${TEAMS}/patched`;
const DRY = `${ONE}?dryRun=All`;

export const PATCHES: readonly Case[] = [
  {
    name: 'a merge patch merges',
    run: async (api) => {
      await api.quietly(
        'POST',
        TEAMS,
        team('patched', { users: ['ada', 'bob'], description: 'd' }),
      );
      for (const patch of [
        { spec: { displayName: 'x', description: null } },
        { spec: { users: ['eve'] } },
        { spec: { owner: { user: 'ada', team: null } } },
        { spec: null },
        { metadata: { labels: { a: 'b', c: null } } },
        { metadata: { annotations: { a: null } } },
        {},
      ]) {
        await api.merge(DRY, patch);
      }
      for (const body of ['[]', '"x"', 'null', '{', '']) {
        await api.ask({ method: 'PATCH', path: DRY, body, type: 'application/merge-patch+json' });
      }
    },
  },
  // covers: endpoints.jsonPatch
  {
    name: 'a JSON patch is applied in order, or not at all',
    run: async (api) => {
      for (const patch of [
        [{ op: 'replace', path: '/spec/displayName', value: 'x' }],
        [{ op: 'add', path: '/spec/users/-', value: 'eve' }],
        [{ op: 'add', path: '/spec/users/0', value: 'eve' }],
        [{ op: 'remove', path: '/spec/users/0' }],
        [{ op: 'move', from: '/spec/users/0', path: '/spec/users/1' }],
        [{ op: 'copy', from: '/spec/displayName', path: '/spec/description' }],
        [{ op: 'test', path: '/spec/displayName', value: 'Data' }],
        [{ op: 'test', path: '/spec/displayName', value: 'nope' }],
        [{ op: 'test', path: '/spec/nothing', value: 'nope' }],
        [{ op: 'remove', path: '/spec/nothing' }],
        [{ op: 'remove', path: '/spec/users/9' }],
        [{ op: 'add', path: '/spec/users/9', value: 'x' }],
        [{ op: 'replace', path: '/spec/nothing/deep', value: 'x' }],
        [{ op: 'add', path: '/metadata/annotations/a', value: 'b' }],
        [{ op: 'add', path: '/metadata/annotations', value: { 'a/b~c': 'd' } }],
        [{ op: 'paint', path: '/spec/displayName', value: 'x' }],
        [{ op: 'replace', path: 'spec/displayName', value: 'x' }],
        [{ op: 'replace', value: 'x' }],
        [{ op: 'add', path: '/spec/displayName' }],
        [],
      ]) {
        await api.json(DRY, patch);
      }
    },
  },
  {
    name: 'a JSON patch that is none is refused',
    run: async (api) => {
      for (const body of ['{}', '"x"', '{', '[1]', '[{}]', '']) {
        await api.code({ method: 'PATCH', path: DRY, body, type: 'application/json-patch+json' });
      }
      const many = Array.from({ length: 10_001 }, () => ({
        op: 'test',
        path: '/kind',
        value: 'Team',
      }));
      await api.json(DRY, many);
    },
  },
  {
    name: 'a patch with an old version is a conflict',
    run: async (api) => {
      const made = await api.quietly('POST', TEAMS, team('raced'));
      const { resourceVersion } = made.metadata;
      const path = `${TEAMS}/raced`;
      await api.merge(path, { metadata: { resourceVersion }, spec: { displayName: 'one' } });
      await api.merge(path, { metadata: { resourceVersion }, spec: { displayName: 'two' } });
      await api.json(path, [
        { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
        { op: 'replace', path: '/spec/displayName', value: 'two' },
      ]);
      await api.merge(path, { spec: { displayName: 'three' } });
    },
  },
  {
    name: 'options of a patch',
    run: async (api) => {
      await api.merge(`${ONE}?force=true`, {});
      await api.merge(`${ONE}?force=false`, {});
      await api.json(`${ONE}?force=true`, []);
      await api.merge(`${ONE}?fieldValidation=Never`, {});
      await api.merge(`${ONE}?dryRun=Never`, {});
    },
  },
];
