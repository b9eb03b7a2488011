import { expect, test } from 'vitest';
import { withProviderTimeout } from '../../src/sign-in/connectors/provider-timeout.ts';

test('a provider that answers slowly again and again is given up as a whole', async () => {
  const signal = withProviderTimeout(new AbortController().signal, 1);

  await new Promise((resolve) => signal.addEventListener('abort', resolve));

  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
});
