import { describe, expect, test } from 'vitest';
import { type CountedEvent, EventRing } from '../../src/apimachinery/object-events.ts';

const HOUR = 60 * 60_000;

function happened(message: string, time = 0) {
  const key = { group: 'example.dev', kind: 'Team', namespace: '', name: 'data' };
  const what = { type: 'Normal', reason: 'Done', component: 'test' } as const;
  return { key, uid: 'u', ...what, message, time };
}

describe('events', () => {
  test('the same thing again is counted', () => {
    const ring = new EventRing();
    ring.record(happened('a', 1));
    ring.record(happened('b', 2));
    ring.record(happened('a', 3));
    expect(
      ring.list().map(({ message, count, first, time }) => [message, count, first, time]),
    ).toEqual([
      ['b', 1, 2, 2],
      ['a', 2, 1, 3],
    ]);
  });

  test('number at most a thousand, and the oldest are dropped', () => {
    const ring = new EventRing();
    for (let index = 0; index < 1100; index++) ring.record(happened(String(index)));
    expect(ring.list()).toHaveLength(1000);
    expect(ring.list()[0]?.message).toBe('100');
  });

  test('expire after an hour without a repetition', () => {
    const ring = new EventRing();
    ring.record(happened('old', 0));
    ring.record(happened('again', 0));
    ring.record(happened('again', HOUR - 1));
    ring.forget(HOUR);
    expect(ring.list().map(({ message }) => message)).toEqual(['again']);
  });

  test('a follower hears of those that exist, of each that comes, and of each that goes', () => {
    const ring = new EventRing();
    const heard: string[] = [];
    ring.record(happened('before'));
    const stop = ring.follow(({ message, count }: CountedEvent, isForgotten) => {
      heard.push(`${message} ${isForgotten ? 'gone' : count}`);
    });
    ring.record(happened('later', 5));
    ring.record(happened('later', 6));
    ring.forget(HOUR);
    stop();
    ring.record(happened('unheard', HOUR));
    expect(heard).toEqual(['before 1', 'later 1', 'later 2', 'before gone']);
  });
});
