/** Server-side apply, with `metadata.managedFields` compared to the byte (section 2.14). */
import { API_VERSION, type Api, type Case, SECRETS, TEAMS, team } from '../case.ts';

const by = (path: string, manager: string, more = ''): string =>
  `${path}?fieldManager=${manager}${more}`;

const wanted = (name: string, spec: object, meta: object = {}): object => ({
  apiVersion: API_VERSION,
  kind: 'Team',
  metadata: { name, ...meta },
  spec,
});

interface Steps {
  /** Manager, what it wants, and more of the query. */
  readonly [step: number]: readonly [string, object, string?, object?];
}

function sequence(name: string, claim: string, steps: readonly Steps[number][]): Case {
  return {
    name: claim,
    run: async (api: Api) => {
      for (const [manager, spec, more = '', meta = {}] of steps) {
        await api.apply(by(`${TEAMS}/${name}`, manager, more), wanted(name, spec, meta));
      }
    },
  };
}

const access = (name: string, verbs: readonly string[]): object => ({
  name,
  verbs,
  users: ['ada'],
});

export const APPLIES: readonly Case[] = [
  sequence('ap-create', 'an apply creates, and then changes nothing', [
    ['a', { displayName: 'x', users: ['ada'] }],
    ['a', { displayName: 'x', users: ['ada'] }],
    ['a', { displayName: 'y' }],
    ['a', {}],
  ]),
  sequence('ap-set', 'a set is shared by its elements', [
    ['a', { users: ['ada', 'bob'] }],
    ['b', { users: ['bob', 'eve'] }],
    ['a', { users: ['bob'] }],
    ['b', {}],
    ['a', { users: [] }],
  ]),
  sequence('ap-conflict', 'who changes the field of another hears of it', [
    ['a', { displayName: 'x', description: 'd' }],
    ['b', { displayName: 'y' }],
    ['b', { displayName: 'y', description: 'e' }],
    ['b', { displayName: 'y' }, '&force=true'],
    ['a', { displayName: 'x', description: 'd' }],
    ['a', { description: 'd' }],
  ]),
  sequence('ap-shared', 'a value that both want is shared', [
    ['a', { displayName: 'x' }],
    ['b', { displayName: 'x', description: 'd' }],
    ['a', {}],
    ['b', {}],
  ]),
  sequence('ap-atomic', 'an atomic list has one owner', [
    ['a', { access: [access('r', ['get'])] }],
    ['b', { access: [access('r', ['get'])] }],
    ['b', { access: [access('r', ['list'])] }],
    ['b', { access: [access('r', ['list'])] }, '&force=true'],
    ['a', {}],
    ['b', {}],
  ]),
  sequence('ap-struct', 'a struct is owned by its fields', [
    ['a', { owner: { user: 'ada' } }],
    ['b', { owner: {} }],
    ['a', {}],
    ['b', {}],
  ]),
  sequence('ap-meta', 'labels, annotations, finalizers and owners are owned one by one', [
    ['a', {}, '', { labels: { a: '1', b: '2' }, annotations: { x: 'y' } }],
    ['b', {}, '', { labels: { b: '2', c: '3' }, finalizers: ['example.com/b'] }],
    ['a', {}, '', { labels: { a: '1' }, finalizers: ['example.com/a'] }],
    ['b', {}],
    ['a', {}],
  ]),
  sequence('ap-null', 'a null is no value', [
    ['a', { displayName: null, users: ['ada'] }],
    ['a', { displayName: 'x', users: null }],
  ]),
  sequence('ap-bad', 'an apply that says what no object can be is refused', [
    ['a', { users: ['ada', 'ada'] }],
    ['a', { displayName: 1 }],
    ['a', { users: 'ada' }],
    ['a', { displayName: 'x' }, '', { labels: { 'a b': 'c' } }],
  ]),
  {
    name: 'an apply says who asks, and what for',
    run: async (api) => {
      const path = `${TEAMS}/ap-ask`;
      await api.apply(path, wanted('ap-ask', {}));
      await api.apply(by(path, 'a'), { spec: {} });
      await api.apply(by(path, 'a'), { ...wanted('ap-ask', {}), kind: 'User' });
      await api.apply(by(path, 'a'), { ...wanted('ap-ask', {}), apiVersion: 'v1' });
      await api.apply(by(path, 'a'), wanted('other', {}));
      await api.apply(by(path, 'a', '&force=maybe'), wanted('ap-ask', {}));
      await api.apply(by(path, 'a'), wanted('ap-ask', {}, { managedFields: [] }));
      await api.apply(by(path, 'a'), wanted('ap-ask', {}, { resourceVersion: '1' }));
      await api.apply(
        by(path, 'a'),
        wanted('ap-ask', {}, { uid: '11111111-1111-4111-8111-111111111111' }),
      );
      await api.apply(by(path, 'a'), '- a list');
      await api.apply(by(path, 'a'), 'a: [');
      await api.apply(by(path, 'a'), '');
    },
  },
  {
    name: 'an apply can be written as YAML',
    run: async (api) => {
      const text = `apiVersion: ${API_VERSION}\nkind: Team\nmetadata: {name: ap-yaml}\nspec:\n  users: [ada]\n`;
      await api.apply(by(`${TEAMS}/ap-yaml`, 'a'), text);
      await api.apply(by(`${TEAMS}/ap-yaml`, 'a'), `${text}  users: [bob]\n`);
      await api.apply(by(`${TEAMS}/ap-yaml`, 'a'), `${text}  nope: 1\n`);
      await api.apply(by(`${TEAMS}/ap-yaml`, 'a', '&fieldValidation=Strict'), `${text}  nope: 1\n`);
    },
  },
  {
    name: 'a dry run of an apply answers as the apply would',
    run: async (api) => {
      const path = `${TEAMS}/ap-dry`;
      await api.apply(by(path, 'a', '&dryRun=All'), wanted('ap-dry', { displayName: 'x' }));
      await api.get(path);
      await api.apply(by(path, 'a'), wanted('ap-dry', { displayName: 'x' }));
      await api.apply(by(path, 'b', '&dryRun=All'), wanted('ap-dry', { displayName: 'y' }));
      await api.apply(
        by(path, 'b', '&dryRun=All&force=true'),
        wanted('ap-dry', { displayName: 'y' }),
      );
      await api.get(path);
    },
  },
  // covers: metadata.managedFields{,.manager,.operation,.fieldsV1}
  {
    name: 'updates and applies take from each other',
    run: async (api) => {
      const path = `${TEAMS}/ap-mixed`;
      await api.post(by(TEAMS, 'maker'), team('ap-mixed', { users: ['ada'] }));
      await api.apply(by(path, 'a'), wanted('ap-mixed', { displayName: 'Data', description: 'd' }));
      await api.apply(by(path, 'a'), wanted('ap-mixed', { displayName: 'Other' }));
      await api.merge(by(path, 'patcher'), { spec: { description: 'e' } });
      await api.apply(by(path, 'a'), wanted('ap-mixed', { description: 'd' }));
      await api.apply(by(path, 'a', '&force=true'), wanted('ap-mixed', { description: 'd' }));
      await api.merge(by(path, 'patcher'), { spec: { description: null, users: ['ada', 'bob'] } });
      const live = await api.quietly('GET', path);
      await api.put(by(path, 'putter'), { ...live, spec: { displayName: 'Put' } });
    },
  },
  {
    name: 'who updates and who applies are two managers, of the same name as well',
    run: async (api) => {
      const path = `${TEAMS}/ap-both`;
      await api.post(by(TEAMS, 'me'), team('ap-both'));
      await api.apply(by(path, 'me'), wanted('ap-both', { description: 'd' }));
      await api.merge(by(path, 'me'), { spec: { description: 'e' } });
      await api.apply(by(path, 'me'), wanted('ap-both', { description: 'd' }));
    },
  },
  {
    name: 'an object that was applied by kubectl on its side moves over',
    run: async (api) => {
      const path = `${TEAMS}/ap-migrate`;
      const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
      const file = wanted('ap-migrate', { displayName: 'x', users: ['ada'] });
      const annotations = { [annotation]: `${JSON.stringify(file)}\n` };
      await api.post(by(TEAMS, 'kubectl-client-side-apply'), {
        ...file,
        metadata: { name: 'ap-migrate', annotations },
      });
      await api.apply(
        by(path, 'kubectl', '&force=false'),
        wanted('ap-migrate', { displayName: 'y' }),
      );
      await api.apply(by(path, 'someone'), wanted('ap-migrate', { displayName: 'z' }));
    },
  },
  {
    name: 'the record can be reset, replaced and left alone',
    run: async (api) => {
      const path = `${TEAMS}/ap-record`;
      await api.apply(by(path, 'a'), wanted('ap-record', { displayName: 'x' }));
      const { managedFields: _m } = (await api.quietly('GET', path)).metadata;
      await api.merge(by(path, 'b'), { metadata: { managedFields: [{}] } });
      await api.apply(by(path, 'a'), wanted('ap-record', { displayName: 'x' }));
      const live = await api.quietly('GET', path);
      const record = live.metadata.managedFields;
      const renamed = record.map((entry: object) => ({ ...entry, manager: 'renamed' }));
      await api.json(by(path, 'c'), [
        { op: 'replace', path: '/metadata/managedFields', value: renamed },
      ]);
      await api.merge(by(path, 'd'), { metadata: { managedFields: [] } });
      const bad = [{ ...record[0], fieldsType: 'FieldsV9' }];
      await api.merge(by(path, 'd'), {
        metadata: { managedFields: bad },
        spec: { description: 'e' },
      });
      await api.merge(by(path, 'd'), { metadata: { managedFields: null } });
    },
  },
  {
    name: 'the entries of updates are at most ten',
    run: async (api) => {
      const path = `${TEAMS}/ap-many`;
      await api.quietly('POST', by(TEAMS, 'maker'), team('ap-many'));
      for (let index = 0; index < 12; index++) {
        const labels = { [`l${index}`]: 'x' };
        await api.quietly(
          'PATCH',
          by(path, `m${index}`),
          { metadata: { labels } },
          'application/merge-patch+json',
        );
      }
      const { metadata } = await api.quietly('GET', path);
      const entries = metadata.managedFields as {
        manager: string;
        operation: string;
      }[];
      api.note('entries', {
        code: 200,
        body: {
          count: entries.length,
          ancient: entries
            .filter(({ manager }) => manager === 'ancient-changes')
            // Which of them are the oldest is a matter of seconds.
            .map(({ operation }) => operation),
        },
      });
    },
  },
  {
    name: 'a map is owned by its keys',
    run: async (api) => {
      const path = `${SECRETS}/ap-map`;
      const data = (values: object): object => ({
        apiVersion: API_VERSION,
        kind: 'SharedSecret',
        metadata: { name: 'ap-map' },
        spec: { data: values },
      });
      await api.apply(by(path, 'a'), data({ one: 'MQ==', two: 'Mg==' }));
      await api.apply(by(path, 'b'), data({ two: 'Mg==', three: 'Mw==' }));
      await api.apply(by(path, 'b'), data({ one: 'OQ==' }));
      await api.apply(by(path, 'a'), data({ one: 'MQ==' }));
      await api.apply(by(path, 'b'), data({}));
    },
  },
  {
    name: 'an apply to what is being deleted',
    run: async (api) => {
      const path = `${TEAMS}/ap-gone`;
      await api.quietly('POST', TEAMS, team('ap-gone', {}, { finalizers: ['example.com/x'] }));
      await api.quietly('DELETE', path);
      await api.apply(by(path, 'a'), wanted('ap-gone', {}, { finalizers: ['example.com/y'] }));
      await api.apply(by(path, 'a'), wanted('ap-gone', {}, { labels: { a: 'b' } }));
      await api.merge(path, { metadata: { finalizers: null } });
      await api.get(path);
    },
  },
];
