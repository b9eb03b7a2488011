/** Events that clients write: `v1` and `events.k8s.io/v1`, two forms of one thing. */
import { type Case, MERGE } from '../case.ts';

const OLDER = '/api/v1/namespaces/default/events';
const NEWER = '/apis/events.k8s.io/v1/namespaces/default/events';
const STRATEGIC = 'application/strategic-merge-patch+json';
const TIME = '2026-11-22T08:00:00Z';
const MICRO = '2026-11-22T08:00:00.123456Z';
const ABOUT = { kind: 'Team', name: 'data', apiVersion: 'management.gitplane.dev/v1', uid: 'u' };

/** As the older recorder of client-go writes them. */
function older(name: string, rest: object = {}, meta: object = {}): object {
  return {
    ...{ apiVersion: 'v1', kind: 'Event', metadata: { name, ...meta } },
    ...{ involvedObject: ABOUT, reason: 'Made', message: 'It was made', type: 'Normal' },
    ...{ source: { component: 'maker' }, firstTimestamp: TIME, lastTimestamp: TIME, count: 1 },
    ...{ reportingComponent: 'maker' },
    ...rest,
  };
}

/** As the newer one does. */
function newer(name: string, rest: object = {}, meta: object = {}): object {
  return {
    ...{ apiVersion: 'events.k8s.io/v1', kind: 'Event', metadata: { name, ...meta } },
    ...{ regarding: ABOUT, reason: 'Made', note: 'It was made', type: 'Normal', action: 'Make' },
    ...{ eventTime: MICRO, reportingController: 'example.com/maker', reportingInstance: 'm-1' },
    ...rest,
  };
}

export const EVENT_CASES: readonly Case[] = [
  {
    name: 'an event of the older form can be read in both',
    run: async (api) => {
      await api.post(OLDER, older('older'));
      await api.post(OLDER, older('older'));
      await api.get(`${OLDER}/older`);
      await api.get(`${NEWER}/older`);
      await api.delete(`${NEWER}/older`);
      await api.get(`${OLDER}/older`);
    },
  },
  {
    name: 'an event of the newer form can be read in both',
    run: async (api) => {
      await api.post(NEWER, newer('newer'));
      await api.get(`${OLDER}/newer`);
      await api.delete(`${OLDER}/newer`);
      await api.get(`${NEWER}/newer`);
    },
  },
  {
    name: 'what happens again is counted, by patches and by puts',
    run: async (api) => {
      await api.quietly('POST', OLDER, older('counted'));
      const path = `${OLDER}/counted`;
      const body = { count: 2, lastTimestamp: '2026-11-22T09:00:00Z' };
      await api.ask({ method: 'PATCH', path, body, type: STRATEGIC });
      await api.merge(path, { message: 'It was made again' });
      await api.json(path, [{ op: 'replace', path: '/count', value: 3 }]);
      await api.put(path, older('counted', { count: 4 }));
      await api.put(path, older('counted', { count: 5 }, { resourceVersion: '1' }));
      await api.merge(`${OLDER}/uncounted`, { count: 2 });
      await api.delete(path);
    },
  },
  {
    name: 'a series goes on, and all else that an event says stays said',
    run: async (api) => {
      await api.quietly('POST', NEWER, newer('series'));
      const path = `${NEWER}/series`;
      const body = { series: { count: 2, lastObservedTime: MICRO } };
      await api.ask({ method: 'PATCH', path, body, type: STRATEGIC });
      await api.merge(path, { series: { count: 1 } });
      await api.merge(path, { note: 'Something else' });
      await api.merge(path, { type: 'Warning', action: 'Break', related: ABOUT });
      await api.merge(path, { metadata: { labels: { a: 'b' } } });
      await api.quietlyNoted('PATCH in the older form', {
        ...{ method: 'PATCH', path: `${OLDER}/series`, type: MERGE },
        body: { message: 'Something else' },
        show: ({ message }) => message,
      });
      await api.delete(path);
    },
  },
  {
    name: 'what makes an event of the older form invalid',
    run: async (api) => {
      const dry = `${OLDER}?dryRun=All`;
      for (const rest of [
        { involvedObject: { ...ABOUT, namespace: 'other' } },
        { involvedObject: { ...ABOUT, namespace: 'default' } },
        { type: 'Odd', reason: '' },
        { eventTime: MICRO },
        { eventTime: MICRO, reportingComponent: 'a b', reportingInstance: 'i', action: 'A' },
        { eventTime: MICRO, reportingInstance: 'i'.repeat(129), action: 'a'.repeat(129) },
        { eventTime: MICRO, reportingInstance: 'i', action: 'A', message: 'm'.repeat(1025) },
        { message: 'm'.repeat(1025) },
      ]) {
        await api.code({ method: 'POST', path: dry, body: older('invalid', rest) });
      }
      await api.post(dry, older('invalid', { eventTime: MICRO }));
      await api.post(dry, older('invalid', { involvedObject: { ...ABOUT, namespace: 'other' } }));
    },
  },
  {
    name: 'what makes an event of the newer form invalid',
    run: async (api) => {
      const dry = `${NEWER}?dryRun=All`;
      for (const rest of [
        { eventTime: null },
        { type: 'Odd' },
        { deprecatedCount: 1 },
        { deprecatedSource: { component: 'x' } },
        { deprecatedFirstTimestamp: TIME, deprecatedLastTimestamp: TIME },
        { series: { count: 1, lastObservedTime: MICRO } },
        { reportingController: '', reportingInstance: '' },
        { action: '', reason: '' },
        { regarding: { ...ABOUT, namespace: 'other' } },
      ]) {
        await api.post(dry, newer('invalid', rest));
      }
    },
  },
  {
    name: 'events are found by what they are about',
    run: async (api) => {
      await api.quietly('POST', OLDER, older('found', { involvedObject: { ...ABOUT, uid: 'f' } }));
      const show = (body: { items: { reason: string }[] }): unknown =>
        body.items.map(({ reason }) => reason);
      for (const [path, selector] of [
        [OLDER, 'involvedObject.uid=f,reason=Made'],
        [OLDER, 'involvedObject.uid=f,reason!=Made'],
        [OLDER, 'involvedObject.uid=f,source=maker,reportingComponent=maker,type=Normal'],
        [NEWER, 'regarding.uid=f,reportingController=maker'],
        ['/api/v1/events', 'involvedObject.uid=f,metadata.namespace=default'],
        [OLDER, 'message=x'],
      ]) {
        const query = `?fieldSelector=${encodeURIComponent(selector ?? '')}`;
        const asked = { method: 'GET', path: `${path}${query}`, show };
        await api.quietlyNoted(`${path} ${selector}`, asked);
      }
      await api.delete(`${OLDER}/found`);
    },
  },
  {
    name: 'a put makes an event that is not there, and a name can be generated',
    run: async (api) => {
      await api.code({ method: 'PUT', path: `${OLDER}/put`, body: older('put') });
      await api.code({ method: 'PUT', path: `${NEWER}/put-newer`, body: newer('put-newer') });
      await api.code({ method: 'DELETE', path: `${OLDER}/put` });
      await api.code({ method: 'DELETE', path: `${OLDER}/put-newer` });
      const generated = { ...older(''), metadata: { generateName: 'generated-' } };
      const { metadata } = await api.quietly('POST', OLDER, generated);
      await api.quietly('DELETE', `${OLDER}/${metadata.name}`);
    },
  },
  {
    name: 'an event is applied',
    run: async (api) => {
      const path = `${OLDER}/applied?fieldManager=one`;
      await api.apply(path, older('applied'));
      await api.apply(path, older('applied', { count: 2 }));
      await api.delete(`${OLDER}/applied`);
    },
  },
];
