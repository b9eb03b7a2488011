/** Deletion of a collection of which some objects are protected. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

const MANY = 40;
let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon?.stop();
});

test('answers after the last deletion, also if one of them is refused', async () => {
  await Promise.all(
    Array.from({ length: MANY }, async (_, i) => {
      const annotations = i === 0 ? { 'gitplane.dev/non-deletable': 'true' } : {};
      const metadata = {
        name: `team-${String(i).padStart(2, '0')}`,
        labels: { a: 'b' },
        annotations,
      };
      const made = await daemon.call('POST', `${API}/teams`, { body: { metadata, spec: {} } });
      expect(made.code, made.text).toBe(201);
    }),
  );

  const refused = await daemon.call('DELETE', `${API}/teams?labelSelector=a%3Db`);
  expect([refused.code, refused.text]).toEqual([403, expect.stringContaining('team-00')]);

  const left = await daemon.call('GET', `${API}/teams?labelSelector=a%3Db`);
  const names = left
    .json()
    .items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  expect(names).toEqual(['team-00']);
});
