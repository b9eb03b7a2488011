import { validate, version } from 'uuid';
import { expect, test } from 'vitest';
import { requestIds } from '../../../src/server/filters/request-id.ts';

test('ids of requests are unique UUIDs from any source', () => {
  const makers = Array.from({ length: 50 }, requestIds);
  const ids = makers.flatMap((make) => Array.from({ length: 300 }, make));
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect([validate(id), version(id)], id).toEqual([true, 8]);
});
