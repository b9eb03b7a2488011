import { expect, test } from 'vitest';
import { within } from '../../src/sign-in/connectors/patience.ts';

test('a provider that answers slowly again and again is given up as a whole', async () => {
  const signal = within(new AbortController().signal, 1);

  await new Promise((resolve) => signal.addEventListener('abort', resolve));

  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
});
