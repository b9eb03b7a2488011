/** Rules of metadata (Kubernetes API, sections 2.13 and 2.16). */
import { type Case, TEAMS, team } from '../case.ts';

const DRY = `${TEAMS}?dryRun=All&fieldValidation=Strict`;
const UID = '11111111-1111-4111-8111-111111111111';

const owner = (rest: object = {}): object => ({
  apiVersion: 'management.gitplane.dev/v1',
  kind: 'Team',
  name: 'boss',
  uid: UID,
  ...rest,
});

export const METADATA: readonly Case[] = [
  {
    name: 'names are DNS subdomains',
    run: async (api) => {
      for (const name of [
        'Upper',
        'under_score',
        '-dash',
        'dash-',
        'a..b',
        'a/b',
        'x'.repeat(254),
        'a.b-c',
      ]) {
        await api.post(DRY, team(name));
      }
    },
  },
  {
    name: 'labels are qualified names and short values',
    run: async (api) => {
      for (const labels of [
        { 'a b': 'c' },
        { '/x': 'c' },
        { 'Bad_Prefix/x': 'c' },
        { ['x'.repeat(64)]: 'c' },
        { a: 'x'.repeat(64) },
        { a: '-x' },
        { a: '' },
        { 'example.com/a': 'b' },
      ]) {
        await api.post(DRY, team('labelled', {}, { labels }));
      }
    },
  },
  {
    name: 'annotations are qualified names and up to 256 KiB',
    run: async (api) => {
      for (const annotations of [{ 'a b': 'c' }, { 'Example.com/A': 'c' }, { a: 'ä { "x": 1 }' }]) {
        await api.post(DRY, team('annotated', {}, { annotations }));
      }
      await api.post(DRY, team('annotated', {}, { annotations: { a: 'x'.repeat(262_144) } }));
      await api.code({
        method: 'POST',
        path: DRY,
        body: team('annotated', {}, { annotations: { a: 'x'.repeat(262_143) } }),
      });
    },
  },
  {
    name: 'finalizers are qualified names',
    run: async (api) => {
      for (const finalizers of [
        ['example.com/hold'],
        ['a b'],
        ['plain'],
        ['dotted.example.com'],
        ['orphan'],
        ['orphan', 'foregroundDeletion'],
        ['kubernetes'],
      ]) {
        await api.post(DRY, team('finalized', {}, { finalizers }));
      }
    },
  },
  // covers: metadata.ownerReferences.oneController
  // covers: metadata.ownerReferences.{apiVersion,kind,name,uid}
  {
    name: 'owner references are whole, and at most one controls',
    run: async (api) => {
      for (const ownerReferences of [
        [owner()],
        [owner({ uid: '' })],
        [owner({ name: '' })],
        [owner({ kind: '' })],
        [owner({ apiVersion: '' })],
        [owner({ apiVersion: 'a/b/c' })],
        [owner({ apiVersion: 'v1', kind: 'Event' })],
        [
          owner({ controller: true }),
          owner({ uid: UID.replace('1', '2'), name: 'b', controller: true }),
        ],
        [owner(), owner()],
        [owner(), owner({ name: 'other' })],
        [{ kind: 'Team' }],
      ]) {
        await api.post(DRY, team('owned', {}, { ownerReferences }));
      }
    },
  },
  // covers: envelope.kind.immutable metadata.name.immutable
  {
    name: 'what metadata holds in a patch is checked as well',
    run: async (api) => {
      await api.quietly('POST', TEAMS, team('meta-patch'));
      const path = `${TEAMS}/meta-patch?dryRun=All`;
      await api.merge(path, { metadata: { labels: { 'a b': 'c' } } });
      await api.merge(path, { metadata: { name: 'other' } });
      await api.merge(path, { metadata: { uid: UID } });
      await api.merge(path, { metadata: { creationTimestamp: '2001-01-01T00:00:00Z' } });
      await api.merge(path, { metadata: { creationTimestamp: null } });
      await api.merge(path, { metadata: { generation: 50 } });
      await api.merge(path, { metadata: { resourceVersion: '5' } });
      await api.merge(path, { metadata: { resourceVersion: null } });
      await api.merge(path, { metadata: { labels: 'x' } });
      await api.merge(path, { metadata: null });
      await api.merge(path, { kind: 'Squad' });
      await api.merge(path, { apiVersion: 'v9' });
    },
  },
  {
    name: 'empty maps and lists of metadata are absent',
    run: async (api) => {
      const empty = { labels: {}, annotations: {}, finalizers: [], ownerReferences: [] };
      await api.post(DRY, team('hollow', {}, empty));
    },
  },
];
