/** The last use of a key is a version of its object that is in nobody's way. */
import { expect, test } from 'vitest';
import { rfc3339 } from '../../src/apimachinery/clock.ts';
import { StatusError } from '../../src/apimachinery/status-error.ts';
import { isStale, recordActivity } from '../../src/registry/activity.ts';
import type { StoredObject } from '../../src/state/store.ts';
import { openTestPlatform, type TestPlatform } from '../support/platform.ts';

async function platform(): Promise<TestPlatform> {
  const opened = await openTestPlatform();
  await opened.create('ownedaccesskeys', { metadata: { name: 'k' }, spec: { user: 'ann' } });
  return opened;
}

function stored(of: TestPlatform): StoredObject {
  const found = of.find('ownedaccesskeys', 'k');
  if (found === undefined) throw new Error('The key is gone');
  return found;
}

const versionOf = (of: TestPlatform): string => stored(of).object.metadata.resourceVersion ?? '';

async function use(of: TestPlatform, second: number): Promise<void> {
  const found = stored(of);
  const { key } = found;
  const prepare = () =>
    ({ do: 'state', changes: [recordActivity(found, rfc3339(second * 1000))] }) as const;
  await of.branch.submit({ key, prepare });
}

async function patchAt(of: TestPlatform, version: string, displayName: string): Promise<number> {
  try {
    await of.patch('ownedaccesskeys', 'k', (it) => {
      it.metadata.resourceVersion = version;
      it.spec.displayName = displayName;
    });
    return 200;
  } catch (error) {
    if (error instanceof StatusError) return error.code;
    throw error;
  }
}

// covers: OwnedAccessKey.status.lastActivity
test('uses are visible, raise no generation, and cause no conflict for earlier readers', async () => {
  const of = await platform();
  const read = versionOf(of);
  await use(of, 1);
  const between = versionOf(of);
  await use(of, 2);
  const { metadata, status } = stored(of).object;
  expect(status).toEqual({ lastActivity: '1970-01-01T00:00:02Z' });
  expect(metadata.generation).toBe(1);
  expect(metadata.resourceVersion).not.toBe(read);
  expect([read, between, versionOf(of)].map((version) => isStale(version, stored(of)))).toEqual([
    false,
    false,
    false,
  ]);
  expect(await patchAt(of, read, 'x')).toBe(200);
});

test('a change between is a conflict, with any uses around it', async () => {
  const of = await platform();
  const first = versionOf(of);
  await use(of, 1);
  expect(await patchAt(of, versionOf(of), 'x')).toBe(200);
  const second = versionOf(of);
  await use(of, 2);
  expect(await patchAt(of, first, 'y')).toBe(409);
  expect(await patchAt(of, second, 'y')).toBe(200);
});

test.each(['0', '99999999999999999999', 'x', '-1'])('the version %s is stale', async (version) => {
  const of = await platform();
  await use(of, 1);
  expect(isStale(version, stored(of))).toBe(true);
});

test('the key itself is none the worse for being used', async () => {
  const of = await platform();
  const before = stored(of).hidden?.['spec.key'];
  await use(of, 1);
  await use(of, 2);
  expect(stored(of).hidden?.['spec.key']).toBe(before);
});
