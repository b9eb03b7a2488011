import { expect, test } from 'vitest';
import { BufferArena } from '../../src/catalog/reader-pool/reader-pool.ts';

test.each([
  ['small', 1_000, 50],
  ['so large that few have room beside each other', 5 * 1024 * 1024, 5],
  ['larger than there is room for', 17 * 1024 * 1024, 2],
])('bytes that are %s stay what they were, whatever becomes of their source', (_, size, count) => {
  const slabs = new BufferArena();
  const placed = Array.from({ length: count }, (_each, i) => {
    const bytes = new Uint8Array(size).fill(i);
    const copy = slabs.place(bytes);
    bytes.fill(0xff);
    return copy;
  });
  const asPlaced = placed.map(
    (copy, i) => copy.length === size && copy.equals(Buffer.alloc(size, i)),
  );
  expect(asPlaced).toEqual(placed.map(() => true));
});
