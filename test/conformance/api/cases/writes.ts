/** Creating and updating (Kubernetes API, sections 2.8 to 2.11). */
import { API_VERSION, type Case, SECRETS, secret, TEAMS, team } from '../case.ts';

const STRICT = '?fieldValidation=Strict';
const WARN = '?fieldValidation=Warn';
const IGNORE = '?fieldValidation=Ignore';

export const WRITES: readonly Case[] = [
  // covers: service.envelope versioning.apiVersion
  // covers: metadata.managedFields{,.manager,.operation,.apiVersion,.fieldsType,.fieldsV1}
  // covers: metadata.managedFields.subresource
  {
    name: 'a created object is as it was sent, with what the server knows',
    run: async (api) => {
      await api.post(`${TEAMS}?fieldManager=tester`, team('made', { users: ['ada', 'bob'] }));
      await api.post(
        SECRETS,
        secret('made', { data: { key: 'dmFsdWU=' } }, { labels: { a: 'b' } }),
      );
      await api.post(TEAMS, team('made'));
    },
  },
  // covers: metadata.selfLink versioning.deprecated.selfLink metadata.creationTimestamp.readOnly
  // covers: metadata.deletionTimestamp.readOnly metadata.deletionGracePeriodSeconds.readOnly
  // covers: metadata.uid metadata.resourceVersion
  {
    name: 'what only the server writes is wiped',
    run: async (api) => {
      const meta = {
        uid: '00000000-0000-4000-8000-000000000000',
        creationTimestamp: '2001-01-01T00:00:00Z',
        deletionTimestamp: '2001-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 7,
        generation: 9,
        selfLink: '/x',
      };
      await api.post(TEAMS, { ...team('wiped', {}, meta), status: { conditions: [] } });
      await api.post(TEAMS, team('versioned', {}, { resourceVersion: '5' }));
    },
  },
  // covers: envelope.kind envelope.kind.inferred envelope.apiVersion envelope.nameRequired
  // covers: metadata.namespace.none versioning.unrecognized
  {
    name: 'an object has to say what it is',
    run: async (api) => {
      await api.post(TEAMS, { ...team('odd'), kind: 'Squad' });
      await api.post(TEAMS, { ...team('odd'), apiVersion: 'management.gitplane.dev/v2' });
      await api.post(TEAMS, { ...team('odd'), apiVersion: 'v1' });
      await api.post(TEAMS, { spec: {}, apiVersion: API_VERSION, kind: 'Team' });
      await api.post(TEAMS, { metadata: {}, apiVersion: API_VERSION, kind: 'Team' });
      await api.post(TEAMS, { metadata: { name: 'untyped' } });
      await api.post(SECRETS, secret('placed', {}, { namespace: 'elsewhere' }));
      await api.post(`${SECRETS}?dryRun=All`, secret('placed', {}, { namespace: 'default' }));
      await api.post(`${TEAMS}?dryRun=All`, team('placed', {}, { namespace: 'default' }));
    },
  },
  // covers: metadata.generateName metadata.generateName.truncated metadata.generateName.ignored
  {
    name: 'a generated name ends in five letters',
    run: async (api) => {
      await api.post(TEAMS, { ...team(''), metadata: { generateName: 'generated-' } });
      await api.post(`${TEAMS}?dryRun=All`, team('named', {}, { generateName: 'generated-' }));
      await api.post(TEAMS, { ...team(''), metadata: { generateName: 'Generated_' } });
      const long = await api.quietly('POST', TEAMS, {
        ...team(''),
        metadata: { generateName: `${'long'.repeat(20)}-` },
      });
      api.note('long', { code: 201, body: long.metadata.name.length });
    },
  },
  {
    name: 'unknown and duplicate fields',
    run: async (api) => {
      const body = {
        ...team('strict', { displayNam: 'x', owner: { user: 'ada', nope: 1 } }),
        extra: 1,
      };
      for (const query of [STRICT, WARN, IGNORE, '?fieldValidation=Sometimes', '']) {
        await api.post(`${TEAMS}${query}${query === '' ? '?' : '&'}dryRun=All`, body);
      }
      const head = `{"apiVersion":"${API_VERSION}","kind":"Team","metadata":{"name":"strict"}`;
      const twice = `${head},"spec":{"displayName":"a","displayName":"b"}}`;
      for (const query of [STRICT, WARN, IGNORE]) {
        await api.post(`${TEAMS}${query}&dryRun=All`, twice);
      }
      await api.post(`${TEAMS}${WARN}&dryRun=All`, team('strict', {}, { nope: 1 }));
      await api.post(`${TEAMS}${STRICT}&dryRun=All`, team('strict', {}, { nope: 1 }));
      await api.quietly('POST', TEAMS, team('strict'));
      for (const query of [STRICT, WARN, IGNORE]) {
        await api.merge(`${TEAMS}/strict${query}&dryRun=All`, { spec: { displayNam: 'x' } });
      }
    },
  },
  {
    name: 'values of the wrong type are refused',
    run: async (api) => {
      for (const spec of [
        { displayName: 1 },
        { users: 'ada' },
        { users: [1] },
        { users: ['ada', 'ada'] },
        { owner: [] },
        { access: [{ verbs: [] }] },
        { displayName: null },
        { users: null },
        { users: [null] },
      ]) {
        await api.post(`${TEAMS}?dryRun=All`, team('typed', spec));
      }
      await api.post(`${TEAMS}?dryRun=All`, { ...team('typed'), spec: [] });
      await api.post(`${TEAMS}?dryRun=All`, { ...team('typed'), spec: null });
    },
  },
  {
    name: 'a dry run leaves nothing behind',
    run: async (api) => {
      await api.post(`${TEAMS}?dryRun=All`, team('dry'));
      await api.get(`${TEAMS}/dry`);
      const made = await api.quietly('POST', TEAMS, team('dry'));
      const changed = { ...made, spec: { displayName: 'changed' } };
      await api.put(`${TEAMS}/dry?dryRun=All`, changed);
      await api.merge(`${TEAMS}/dry?dryRun=All`, { spec: { displayName: 'changed' } });
      await api.delete(`${TEAMS}/dry?dryRun=All`);
      await api.delete(`${TEAMS}/dry`, { dryRun: ['All'] });
      await api.get(`${TEAMS}/dry`);
      await api.post(`${TEAMS}?dryRun=Some`, team('dry2'));
      await api.post(`${TEAMS}?dryRun=`, team('dry2'));
    },
  },
  // covers: metadata.uid.immutable metadata.creationTimestamp.readOnly
  // covers: metadata.deletionTimestamp.readOnly metadata.deletionGracePeriodSeconds.readOnly
  // covers: metadata.resourceVersion.concurrency metadata.resourceVersion.changes
  {
    name: 'a put replaces what is there',
    run: async (api) => {
      const made = await api.quietly(
        'POST',
        TEAMS,
        team('put', { users: ['ada'] }, { labels: { a: 'b' } }),
      );
      const { resourceVersion, uid } = made.metadata;
      const wanted = team('put', { displayName: 'New' }, { resourceVersion });
      await api.put(`${TEAMS}/put`, wanted);
      await api.put(`${TEAMS}/put`, wanted);
      const { metadata } = await api.quietly('GET', `${TEAMS}/put`);
      const newest = metadata.resourceVersion;
      await api.put(
        `${TEAMS}/put`,
        team('put', { displayName: 'New' }, { resourceVersion: newest }),
      );
      const put = (meta: object, name = 'put'): Promise<unknown> =>
        api.put(
          `${TEAMS}/put`,
          team(name, { displayName: 'New' }, { resourceVersion: newest, ...meta }),
        );
      await put({ uid });
      await put({ uid: '00000000-0000-4000-8000-000000000000' });
      await put({}, 'other');
      await put({}, '');
      await put({ creationTimestamp: '2001-01-01T00:00:00Z', generation: 77, selfLink: '/x' });
      await put({ deletionTimestamp: '2001-01-01T00:00:00Z', deletionGracePeriodSeconds: 1 });
      await put({ resourceVersion: 'abc' });
      await put({ namespace: 'default' });
    },
  },
  {
    name: 'a put without a version',
    run: async (api) => {
      await api.quietly('POST', SECRETS, secret('unversioned'));
      await api.put(`${SECRETS}/unversioned`, secret('unversioned', { description: 'x' }));
      await api.quietly('POST', TEAMS, team('unversioned'));
      await api.put(`${TEAMS}/unversioned`, team('unversioned', { description: 'x' }));
      await api.put(`${SECRETS}/unversioned`, secret('unversioned', {}, { resourceVersion: '0' }));
    },
  },
  // covers: metadata.namespace.immutable
  {
    name: 'a put in another namespace is refused',
    run: async (api) => {
      const made = await api.quietly('POST', SECRETS, secret('moved'));
      const moved = { ...made, metadata: { ...made.metadata, namespace: 'elsewhere' } };
      await api.put(`${SECRETS}/moved`, moved);
    },
  },
  // covers: metadata.generation
  {
    name: 'generation counts changes of what is wanted',
    run: async (api) => {
      await api.quietly('POST', TEAMS, team('counted'));
      await api.merge(`${TEAMS}/counted`, { metadata: { labels: { a: 'b' } } });
      await api.merge(`${TEAMS}/counted`, { metadata: { annotations: { a: 'b' } } });
      await api.merge(`${TEAMS}/counted`, { spec: { displayName: 'two' } });
      await api.merge(`${TEAMS}/counted`, { spec: { displayName: 'two' } });
      await api.merge(`${TEAMS}/counted`, { status: { conditions: [] } });
      await api.merge(`${TEAMS}/counted`, {});
    },
  },
  {
    name: 'the field manager is a short name',
    run: async (api) => {
      for (const manager of ['x'.repeat(129), 'a%07b', 'fine']) {
        await api.post(`${TEAMS}?dryRun=All&fieldManager=${manager}`, team('managed'));
      }
    },
  },
  {
    name: 'a body that is too large is refused',
    run: async (api) => {
      const text = 'x'.repeat(3 * 1024 * 1024 + 10);
      await api.post(TEAMS, team('large', { description: text }));
    },
  },
];
