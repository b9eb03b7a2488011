/** How far back the journal reaches, whose events a collection has, and who hears of them. */
import { beforeEach, expect, test } from 'vitest';
import {
  DEFAULT_WINDOW,
  Journal,
  JournalStep,
  type JournalWindow,
} from '../../../src/state/journal/journal.ts';
import type { JournalEvent, StoredObject } from '../../../src/state/store.ts';
import { keyOf, SECRETS, secretsIn, TEAMS } from '../builders.ts';

const WIDE: JournalWindow = { keepEvents: 1000, keepMs: 0, maxEvents: 1000, maxBytes: 1000 };

let now = 0;
beforeEach(() => {
  now = 1_000_000;
});

const journalOf = (window: Partial<JournalWindow>, floor = 0): Journal =>
  new Journal(floor, { ...WIDE, ...window }, { now: () => now });

function event(path: string, resourceVersion: number): JournalEvent {
  const current = { key: keyOf(path), resourceVersion } as unknown as StoredObject;
  return { type: 'MODIFIED', resourceVersion, current, previous: undefined };
}

/** Appends events of so many bytes each, in one step, and trims. */
function take(journal: Journal, events: readonly JournalEvent[], bytes = 1): number {
  const step = new JournalStep();
  for (const one of events) step.add(one, bytes);
  journal.take(step);
  return trim(journal);
}

/** How many were forgotten. */
const trim = (journal: Journal): number => [...journal.trim()].length;

const teams = (from: number, to: number): JournalEvent[] =>
  Array.from({ length: to - from + 1 }, (_, i) => event('a', from + i));

test.each([
  ['as old as it has to hold', 500, 0],
  ['older', 501, 2],
])('events beyond the newest ones go when they are %s', (_what, age, gone) => {
  const journal = journalOf({ keepEvents: 3, keepMs: 500 });
  take(journal, teams(1, 5));
  now += age;
  expect(trim(journal)).toBe(gone);
  expect(journal.floor(TEAMS)).toBe(gone);
});

test('old events stay as long as they are among the newest', () => {
  const journal = journalOf({ keepEvents: 5, keepMs: 500 });
  take(journal, teams(1, 5));
  now += 100_000;
  expect(trim(journal)).toBe(0);
});

test('the journal holds at most its number of events, at any age', () => {
  const journal = journalOf({ keepEvents: 1, keepMs: 1e9, maxEvents: 4 });
  expect(take(journal, teams(1, 4))).toBe(0);
  expect(take(journal, teams(5, 6))).toBe(2);
  expect(journal.floor(TEAMS)).toBe(2);
});

test('the journal holds at most its number of bytes, at any age', () => {
  const journal = journalOf({ keepEvents: 1, keepMs: 1e9, maxBytes: 40 });
  expect(take(journal, teams(1, 4), 10)).toBe(0);
  expect(take(journal, teams(5, 5), 11)).toBe(2);
  expect(take(journal, teams(6, 6), 9)).toBe(0);
});

test('an event is in the logs of its kind and of its namespace, and no others', () => {
  const journal = journalOf({});
  const step = new JournalStep();
  for (const [path, version] of [
    ['x/s', 1],
    ['y/s', 2],
    ['a', 3],
  ] as const) {
    step.add(event(path, version), 1);
  }
  const touched = journal.take(step);

  const versions = [TEAMS, SECRETS, secretsIn('x'), secretsIn('y'), secretsIn('z')].map(
    (collection) => {
      const { events } = journal.log(collection);
      const positions = Array.from({ length: events.end - events.first }, (_, i) => i);
      return positions.map((at) => events.at(events.first + at)?.resourceVersion);
    },
  );
  expect(versions).toEqual([[3], [1, 2], [1], [2], []]);
  expect(touched).toContain(journal.peek(secretsIn('x')));
  expect(touched).not.toContain(journal.peek(secretsIn('z')));
});

test('a namespace without a log reads on from where its kind does', () => {
  const journal = journalOf({ maxEvents: 1 }, 7);
  expect([journal.floor(SECRETS), journal.floor(secretsIn('x'))]).toEqual([7, 7]);
  take(journal, [event('x/s', 8), event('x/s', 9)]);
  expect([journal.floor(SECRETS), journal.floor(secretsIn('x'))]).toEqual([8, 8]);
  expect(journal.floor(secretsIn('y'))).toBe(8);
  expect(journal.floor(TEAMS)).toBe(7);
});

test('a log of a namespace goes with its last event, that of a kind stays', () => {
  const journal = journalOf({ maxEvents: 1 });
  take(journal, [event('x/s', 1), event('y/s', 2)]);
  expect(journal.peek(secretsIn('x'))).toBeUndefined();
  expect(journal.peek(secretsIn('y'))).toBeDefined();
  take(journal, [event('a', 3)]);
  expect(journal.peek(SECRETS)?.floor).toBe(2);
});

test('a log that is followed stays, and goes when its last follower has left', () => {
  const journal = journalOf({});
  const { listeners, readers } = journal.log(secretsIn('x'));
  const listener = (): void => undefined;
  const reader = { wake: listener, end: listener };
  listeners.add(listener);
  readers.add(reader);
  for (const leave of [() => listeners.delete(listener), () => readers.delete(reader)]) {
    journal.release(secretsIn('x'));
    expect(journal.peek(secretsIn('x'))).toBeDefined();
    leave();
  }
  journal.release(secretsIn('x'));
  expect(journal.peek(secretsIn('x'))).toBeUndefined();
});

test('listeners of the kind and of the namespace are called, each past the error of another', () => {
  const journal = journalOf({});
  const heard: string[] = [];
  const errors: unknown[] = [];
  journal.log(SECRETS).listeners.add(() => {
    throw new Error('mine');
  });
  journal.log(SECRETS).listeners.add(() => heard.push('kind'));
  journal.log(secretsIn('x')).listeners.add(() => heard.push('x'));
  journal.log(secretsIn('y')).listeners.add(() => heard.push('y'));
  journal.notify(event('x/s', 1), (error) => errors.push(error));
  expect(heard).toEqual(['kind', 'x']);
  expect(errors).toEqual([new Error('mine')]);
});

test('a listener that leaves while it is called takes no call from the others', () => {
  const journal = journalOf({});
  const heard: string[] = [];
  const { listeners } = journal.log(TEAMS);
  const first = (): void => {
    listeners.delete(first);
    listeners.add(() => heard.push('late'));
    heard.push('first');
  };
  listeners.add(first);
  listeners.add(() => heard.push('second'));
  journal.notify(event('a', 1), () => undefined);
  expect(heard).toEqual(['first', 'second']);
});

test('a journal is quiet until an event or a follower comes', () => {
  const happened = journalOf({});
  expect(happened.quiet).toBe(true);
  take(happened, teams(1, 1));
  expect(happened.quiet).toBe(false);

  const followed = journalOf({});
  followed.log(TEAMS);
  expect(followed.quiet).toBe(true);
  followed.log(TEAMS).listeners.add(() => undefined);
  expect(followed.quiet).toBe(false);
});

test('a restart ends readers, keeps listeners and their logs, and forgets every event', () => {
  const journal = journalOf({ maxBytes: 10 });
  take(journal, [event('a', 1), event('x/s', 2)], 5);
  const ended: string[] = [];
  const heard: string[] = [];
  const log = journal.log(TEAMS);
  log.listeners.add(() => heard.push('a'));
  log.readers.add({ wake: () => undefined, end: () => ended.push('reader') });

  journal.restart(20);

  expect(ended).toEqual(['reader']);
  expect([journal.floor(TEAMS), journal.floor(SECRETS)]).toEqual([20, 20]);
  expect(journal.peek(TEAMS)).toBe(log);
  expect(log.events.first).toBe(log.events.end);
  expect(journal.peek(SECRETS)).toBeUndefined();
  // Bytes of before count no more.
  expect(take(journal, [event('a', 21)], 10)).toBe(0);
  journal.notify(event('a', 21), () => undefined);
  expect(heard).toEqual(['a']);
});

test('ten thousand events stay at any age by default, and more of them for five minutes', () => {
  const journal = new Journal(0, DEFAULT_WINDOW, { now: () => now });
  take(journal, teams(1, 10_002));
  now += 5 * 60_000;
  expect(trim(journal)).toBe(0);
  now += 1;
  expect(trim(journal)).toBe(2);
});

test('events of more than 128 MiB go at any age by default', () => {
  const journal = new Journal(0, DEFAULT_WINDOW, { now: () => now });
  expect(take(journal, teams(1, 128), 2 ** 20)).toBe(0);
  expect(take(journal, teams(129, 129), 1)).toBe(1);
});
