/** What every state engine must do. An implementation runs all of it by one call. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type EngineWrite,
  MAX_KEY_BYTES,
  type StateEngine,
} from '../../src/state/engines/engine.ts';
import { compareBytes } from '../../src/state/objects/key-order.ts';
import { StateError } from '../../src/state/state-error.ts';
import { runs } from '../support/properties.ts';

export interface EngineHarness {
  /** An engine on what the last one left; on nothing at first. */
  open(): Promise<StateEngine>;
  /** An engine on a copy of what is on stable storage at this moment. */
  openCopy(): Promise<StateEngine>;
  /** Removes everything that was made. */
  dispose(): Promise<void>;
}

export function testStateEngine(name: string, make: () => Promise<EngineHarness>): void {
  describe(`${name} as a state engine`, () => {
    let harness: EngineHarness;
    let engine: StateEngine;

    beforeEach(async () => {
      harness = await make();
      engine = await harness.open();
    });

    afterEach(async () => {
      await engine.close();
      await harness.dispose();
    });

    async function reopen(): Promise<void> {
      await engine.close();
      engine = await harness.open();
    }

    test('a new engine holds nothing', async () => {
      expect(await entries(engine)).toEqual([]);
    });

    test('writes are there after closing and opening again', async () => {
      engine.write([set('a', '1'), set('b', '2')]);

      await reopen();

      expect(await entries(engine)).toEqual(['a=1', 'b=2']);
    });

    test('flushed records can be loaded', async () => {
      engine.write([set('a', '1')]);
      await engine.flush();

      expect(await entries(engine)).toEqual(['a=1']);
    });

    test('entries come in bytewise order of their keys', async () => {
      const keys = ['o/b', 'o/a-b/x', 'o/a/x', 'o/a.b/x', 'o/é', 'o/\u{1f600}', 'o/\uffee', 'n/z'];
      engine.write(keys.map((key) => set(key, '')));

      await reopen();

      const bytes = (key: string): Buffer => Buffer.from(key);
      const sorted = [...keys].sort((a, b) => Buffer.compare(bytes(a), bytes(b)));
      expect(await entries(engine)).toEqual(sorted.map((key) => `${key}=`));
    });

    test('a prefix selects the keys that begin with it and no others', async () => {
      engine.write(['n', 'n/', 'n/a', 'n/b/c', 'n0', 'o/a', 'm/z'].map((key) => set(key, 'v')));
      await engine.flush();

      expect(await entries(engine, 'n/')).toEqual(['n/=v', 'n/a=v', 'n/b/c=v']);
      expect(await entries(engine, 'x')).toEqual([]);
    });

    test('undefined removes a key, and may name one that is not there', async () => {
      engine.write([set('a', '1'), set('b', '2')]);
      engine.write([set('a', undefined), set('never', undefined)]);

      await reopen();

      expect(await entries(engine)).toEqual(['b=2']);
    });

    test('writes take effect in order, within a batch and between batches', async () => {
      engine.write([set('a', '1'), set('a', undefined), set('a', '2')]);
      engine.write([set('b', '1')]);
      engine.write([set('b', undefined)]);
      engine.write([set('c', '1')]);
      engine.write([set('c', '2')]);

      await reopen();

      expect(await entries(engine)).toEqual(['a=2', 'c=2']);
    });

    test('empty and large values come back byte for byte', async () => {
      const large = Buffer.alloc(3 * 1024 * 1024, 'lärge\0');
      engine.write([
        { key: 'empty', value: Buffer.alloc(0) },
        { key: 'large', value: large },
      ]);

      await reopen();

      const loaded = new Map<string, Buffer>();
      for await (const [key, value] of engine.load('')) loaded.set(key, value);
      expect(loaded.get('empty')).toHaveLength(0);
      expect(loaded.get('large')?.equals(large)).toBe(true);
    });

    test.each([
      { name: 'one byte', key: 'k' },
      { name: 'the longest', key: 'k'.repeat(MAX_KEY_BYTES) },
      { name: 'the longest, not ASCII', key: 'é'.repeat(MAX_KEY_BYTES / 2) },
    ])('a key is kept: $name', async ({ key }) => {
      engine.write([set(key, 'v')]);

      await reopen();

      expect(await entries(engine)).toEqual([`${key}=v`]);
    });

    test.each([
      { name: 'empty', key: '' },
      { name: 'too long', key: 'k'.repeat(MAX_KEY_BYTES + 1) },
      { name: 'too long, not ASCII', key: 'é'.repeat(MAX_KEY_BYTES / 2 + 1) },
    ])('a key is refused with the whole batch: $name', async ({ key }) => {
      expect(() => engine.write([set('good', '1'), set(key, '2')])).toThrow(StateError);

      await reopen();

      expect(await entries(engine)).toEqual([]);
    });

    test('a flush waits for every batch before it, however many are queued', async () => {
      for (let i = 0; i < 1000; i++) engine.write([set(`k${i}`, 'v'), set('last', String(i))]);
      await engine.flush();

      const copy = await harness.openCopy();

      expect((await entries(copy)).length).toBe(1001);
      expect(await entries(copy, 'last')).toEqual(['last=999']);
      await copy.close();
    });

    test('a flush of nothing resolves', async () => {
      await engine.flush();
      await engine.flush();
    });

    test('a batch is there as a whole or not at all, at whatever moment one looks', async () => {
      const seen: string[] = [];
      for (let i = 0; i < 16; i++) {
        engine.write([set('a', String(i)), set('b', String(i)), set('c', String(i))]);
        for (let turn = 0; turn < i % 4; turn++) await new Promise(setImmediate);
        const copy = await harness.openCopy();
        seen.push((await entries(copy)).map((entry) => entry.slice(2)).join());
        await copy.close();
      }

      const numbers = seen.filter((text) => text !== '').map((text) => text.split(','));
      for (const values of numbers) expect(values).toEqual([values[0], values[0], values[0]]);
      const order = numbers.map(([value]) => Number(value));
      expect(order).toEqual([...order].sort((a, b) => a - b));
    });

    test('closing again does nothing, and a closed engine refuses to write', async () => {
      await engine.close();
      await engine.close();

      expect(() => engine.write([set('a', '1')])).toThrow(StateError);
    });

    test('any sequence of batches leaves what a map would hold', async () => {
      const write = fc.record({
        key: fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }),
        value: fc.option(fc.string(), { nil: undefined }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(write)), async (batches) => {
          const model = new Map((await pairs(engine)).map(([key, value]) => [key, value]));
          for (const batch of batches) {
            engine.write(batch.map(({ key, value }) => set(key, value)));
            for (const { key, value } of batch) {
              if (value === undefined) model.delete(key);
              else model.set(key, value);
            }
          }
          await engine.flush();
          expect(await pairs(engine)).toEqual([...model].sort(([a], [b]) => compareBytes(a, b)));
        }),
        { numRuns: runs(30) },
      );
    });
  });
}

function set(key: string, value: string | undefined): EngineWrite {
  return { key, value: value === undefined ? undefined : Buffer.from(value) };
}

async function pairs(engine: StateEngine, prefix = ''): Promise<[string, string][]> {
  const found: [string, string][] = [];
  for await (const [key, value] of engine.load(prefix)) found.push([key, value.toString()]);
  return found;
}

async function entries(engine: StateEngine, prefix = ''): Promise<string[]> {
  return (await pairs(engine, prefix)).map(([key, value]) => `${key}=${value}`);
}
