/** Repeated owner references in the body of a write. */
import { expect, test } from 'vitest';
import { openTestPlatform } from '../../support/platform.ts';

const apiVersion = 'management.gitplane.dev/v1';
const reference = (uid: string): object => ({ apiVersion, kind: 'Team', name: 'owner', uid });

function owned(count: number): { body: object; references: object[] } {
  const references = Array.from({ length: count }, (_, i) => reference(`u${i}`));
  const { uid, ...others } = { ...reference('u0'), uid: 'u0' };
  const ownerReferences = [...references, { uid, ...others }, reference('u1')];
  const metadata = { name: 'owned', ownerReferences };
  return { references, body: { apiVersion, kind: 'Team', metadata } };
}

test('thousands of owner references are stored once each', async () => {
  const platform = await openTestPlatform();
  const { body, references } = owned(3_000);

  const result = await platform.create('teams', body);

  expect(result.object.metadata.ownerReferences).toEqual(references);
  expect(result.warnings).toEqual([expect.stringMatching(/duplicate UID\(s\) observed: u0, u1$/)]);
});

test('tens of thousands of owner references are compared once each', async () => {
  const platform = await openTestPlatform();
  const { body } = owned(30_000);

  const before = process.cpuUsage();
  await expect(platform.create('teams', body)).rejects.toThrow('more than 250000 words');
  const { user } = process.cpuUsage(before);

  expect(user / 1000).toBeLessThan(15_000);
});
