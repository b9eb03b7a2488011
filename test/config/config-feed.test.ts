import { expect, test } from 'vitest';
import { DEFAULTS } from '../../src/config/config-feed.ts';
import { parseConfigRaw } from '../../src/kinds/config/config-raw.ts';

test('a platform without a Config has what an empty one would say', () => {
  expect(DEFAULTS).toEqual(parseConfigRaw('').status);
  expect(Object.isFrozen(DEFAULTS)).toBe(true);
});
