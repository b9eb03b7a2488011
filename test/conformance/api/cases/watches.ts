/** Watches (Kubernetes API, section 2.7). */
import { type Case, SECRETS, secret, TEAMS, team } from '../case.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const PARTIAL = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';

interface Event {
  readonly type: string;
  readonly object: {
    readonly kind: string;
    readonly code?: number;
    readonly metadata: { readonly name?: string; readonly annotations?: object };
    readonly spec?: { readonly displayName?: string };
  };
}

/** What happened, to whom, and how it looks then. */
const brief = ({ type, object }: Event): unknown => ({
  type,
  name: object.metadata.name ?? null,
  shown: object.spec?.displayName ?? null,
});

const whole = (event: Event): unknown => event;

const only = (label: string, more = ''): string =>
  `${TEAMS}?watch=true&labelSelector=${label}${more}`;

export const WATCHES: readonly Case[] = [
  {
    name: 'a watch without a version begins with what is there',
    run: async (api) => {
      for (const name of ['w1-a', 'w1-b']) {
        await api.quietly('POST', TEAMS, team(name, {}, { labels: { w1: '' } }));
      }
      for (const version of ['', '&resourceVersion=0']) {
        await api.watch(only('w1', version), { events: 2, show: whole });
      }
      await api.get(`${TEAMS}/w1-a?watch=true`);
      const single = `${TEAMS}?watch=1&fieldSelector=metadata.name%3Dw1-b`;
      await api.watch(single, { events: 1, show: brief });
      await api.watch(`/apis/management.gitplane.dev/v1/watch/teams?labelSelector=w1`, {
        events: 2,
        show: brief,
      });
    },
  },
  {
    name: 'a watch from a version tells what came after it, in order',
    run: async (api) => {
      const made = await api.quietly('POST', TEAMS, team('w2-a', {}, { labels: { w2: '' } }));
      const { resourceVersion } = made.metadata;
      const path = only('w2', `&resourceVersion=${resourceVersion}`);
      await api.watch(path, {
        events: 4,
        show: whole,
        during: async () => {
          await api.quietly(
            'PATCH',
            `${TEAMS}/w2-a`,
            { spec: { displayName: 'x' } },
            'application/merge-patch+json',
          );
          await api.quietly('POST', TEAMS, team('w2-b', {}, { labels: { w2: '' } }));
          await api.quietly('DELETE', `${TEAMS}/w2-a`);
          await api.quietly('DELETE', `${TEAMS}/w2-b`);
        },
      });
    },
  },
  {
    name: 'what begins to match is added and what stops is deleted',
    run: async (api) => {
      const list = await api.quietly('GET', `${TEAMS}?limit=1`);
      const path = only('w3%3Dyes', `&resourceVersion=${list.metadata.resourceVersion}`);
      const label = (w3: string | null): Promise<unknown> =>
        api.quietly(
          'PATCH',
          `${TEAMS}/w3-a`,
          { metadata: { labels: { w3 } } },
          'application/merge-patch+json',
        );
      await api.watch(path, {
        events: 5,
        show: whole,
        during: async () => {
          await api.quietly('POST', TEAMS, team('w3-a', {}, { labels: { w3: 'no' } }));
          await label('yes');
          await label('no');
          await label(null);
          await label('yes');
          await api.quietly(
            'PATCH',
            `${TEAMS}/w3-a`,
            { spec: { displayName: 'seen' } },
            'application/merge-patch+json',
          );
          await api.quietly('DELETE', `${TEAMS}/w3-a`);
        },
      });
    },
  },
  {
    name: 'a selection by name sees that object alone',
    run: async (api) => {
      const list = await api.quietly('GET', `${SECRETS}?limit=1`);
      const version = list.metadata.resourceVersion;
      await api.watch(
        `${SECRETS}?watch=true&fieldSelector=metadata.name%3Dw4-b&resourceVersion=${version}`,
        {
          events: 2,
          show: brief,
          during: async () => {
            await api.quietly('POST', SECRETS, secret('w4-a'));
            await api.quietly('POST', SECRETS, secret('w4-b'));
            await api.quietly('DELETE', `${SECRETS}/w4-a`);
            await api.quietly('DELETE', `${SECRETS}/w4-b`);
          },
        },
      );
    },
  },
  {
    name: 'initial events end with a bookmark',
    run: async (api) => {
      for (const name of ['w5-a', 'w5-b']) {
        await api.quietly('POST', TEAMS, team(name, {}, { labels: { w5: '' } }));
      }
      const initial = '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
      const path = only('w5', `${initial}&allowWatchBookmarks=true`);
      await api.watch(path, { events: 3, show: whole });
      await api.watch(`${path}&resourceVersion=0`, { events: 3, show: brief });
      const none = only('w5-none', `${initial}&allowWatchBookmarks=true`);
      await api.watch(none, { events: 1, show: whole });
      const quiet = only('w5', `${initial}`);
      await api.watch(quiet, { events: 2, show: brief });
    },
  },
  {
    name: 'initial events in other forms',
    run: async (api) => {
      const initial =
        '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const path = only('w5', initial);
      await api.watch(path, { events: 3, accept: PARTIAL, show: whole });
      await api.watch(path, {
        events: 3,
        accept: TABLE,
        show: ({
          type,
          object,
        }: {
          type: string;
          object: {
            kind: string;
            columnDefinitions: unknown[];
            rows: { cells: unknown[]; object: object }[];
          };
        }) => ({
          type,
          kind: object.kind,
          columns: object.columnDefinitions?.length > 0,
          rows: object.rows?.map(({ cells, object: of }) => ({
            name: cells[0],
            of: Object.keys(of ?? {}),
          })),
        }),
      });
    },
  },
  {
    name: 'options of a watch that contradict each other are refused',
    run: async (api) => {
      for (const query of [
        'sendInitialEvents=true',
        'sendInitialEvents=true&resourceVersionMatch=Exact',
        'resourceVersionMatch=NotOlderThan',
        'resourceVersionMatch=NotOlderThan&resourceVersion=0',
        'resourceVersionMatch=Sometimes&resourceVersion=0',
        'sendInitialEvents=false',
        'continue=abc&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
        'labelSelector=a%20b',
        'fieldSelector=spec.x%3D1',
      ]) {
        await api.get(`${TEAMS}?watch=true&timeoutSeconds=1&${query}`);
      }
      await api.code({
        method: 'GET',
        path: `${TEAMS}?watch=true&timeoutSeconds=1&resourceVersion=abc`,
      });
      await api.get(`${TEAMS}?watch=true&timeoutSeconds=1`, { accept: 'application/yaml' });
      await api.get(`${TEAMS}?watch=true&timeoutSeconds=1`, { accept: 'text/html' });
    },
  },
  {
    name: 'a version that is not there yet is too large',
    run: async (api) => {
      const initial =
        'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      await api.get(
        `${TEAMS}?watch=true&timeoutSeconds=1&${initial}&resourceVersion=9000000000000000`,
      );
    },
  },
  {
    name: 'a stream ends after timeoutSeconds',
    run: async (api) => {
      await api.watch(only('w6-none', '&timeoutSeconds=1'), { show: whole });
    },
  },
  {
    name: 'a version that is forgotten is expired',
    run: async (api) => {
      await api.watch(`${TEAMS}?watch=true&resourceVersion=1`, {
        events: 1,
        show: ({ type, object }: Event) => ({ type, code: object.code }),
      });
    },
  },
];
