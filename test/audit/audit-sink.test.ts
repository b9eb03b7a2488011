import { expect, test } from 'vitest';
import { AuditSink } from '../../src/audit/audit-sink.ts';

test('events of others wait in one half of the room, so that there is some for our own', async () => {
  let write: (() => void) | undefined;
  const target = {
    open: async () => undefined,
    append: () =>
      new Promise<undefined>((done) => {
        write = () => done(undefined);
      }),
    close: async () => undefined,
  };
  const observer = { trouble: () => undefined, refused: () => undefined };
  const sink = new AuditSink({ name: 'file', observer, keepsFormer: true });
  expect(sink.hasRoomFor(1)).toBe(true);
  sink.follow('a log', () => target);
  await sink.opened();
  const half = 8 * 1024 * 1024;
  sink.add({ bytes: Buffer.alloc(half - 10), events: 1 });
  expect([sink.hasRoomFor(10), sink.hasRoomFor(11)]).toEqual([true, false]);
  sink.add({ bytes: Buffer.alloc(half), events: 1 });
  expect([sink.hasRoomFor(0), sink.counts.dropped]).toEqual([false, 0]);
  write?.();
  await expect.poll(() => sink.counts.written).toBe(1);
  const closed = sink.close();
  write?.();
  await closed;
});
