import { expect, test } from 'vitest';
import { relayedEvents } from '../../src/audit/relayed.ts';
import { eventRows } from '../../src/audit/store/event-rows.ts';

const EVENT = {
  level: 'Metadata',
  stage: 'ResponseComplete',
  auditID: 'a-1',
  stageTimestamp: '2026-01-31T12:00:00.000000Z',
  verb: 'get',
  user: { username: 'ann' },
};

function relayed(event: object): Record<string, unknown> {
  const [text] = relayedEvents({ kind: 'EventList', items: [{ ...EVENT, ...event }] }, 'agent-1');
  return JSON.parse(`${text}}`);
}

test('an event of an agent keeps only the fields of an event', () => {
  const found = relayed({ token: 'hunter2', managedFields: [{}], userAgent: 'curl' });
  expect(found).toMatchObject({ ...EVENT, kind: 'Event', userAgent: 'curl' });
  expect(JSON.stringify(found)).not.toMatch(/hunter2|managedFields/);
});

test('an agent cannot write events in the name of the platform', () => {
  const annotations = {
    'gitplane.dev/revision': 'abc',
    'gitplane.dev/sent-by-agent': 'another',
    'authorization.k8s.io/decision': 'allow',
  };
  expect(relayed({ annotations })['annotations']).toEqual({
    'authorization.k8s.io/decision': 'allow',
    'gitplane.dev/sent-by-agent': 'agent-1',
  });
});

test('an event from the future is stored as of now, so that it goes one day', () => {
  const late = JSON.stringify(relayed({ stageTimestamp: '9999-01-01T00:00:00Z' }));
  const { rows } = eventRows(`${late}\n${JSON.stringify(relayed({}))}\n`);
  expect(rows[0]?.time).toBeLessThanOrEqual(Date.now());
  expect(rows[1]?.time).toBe(Date.parse(EVENT.stageTimestamp));
});
