/** Keys that ended leave git, a while later and no sooner. */
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { EventRing } from '../../src/apimachinery/object-events.ts';
import { type KeyExpiry, openKeyExpiry } from '../../src/controllers/key-expiry.ts';
import { git } from '../support/git.ts';
import {
  type GuardedPlatform,
  grant,
  object,
  openGuardedPlatform,
} from '../support/guarded-platform.ts';
import { kindOf } from '../support/platform.ts';

const HOUR = 3600;
/** Time of the operator's commits. */
const START = 1_700_000_000_000;
const KEPT = 24 * HOUR * 1000;
const NEVER = new AbortController().signal;

async function platform(): Promise<{
  at: GuardedPlatform;
  admin: string;
  expiry: KeyExpiry;
  events: EventRing;
  pass(seconds: number): void;
}> {
  let now = START;
  const events = new EventRing();
  const at = await openGuardedPlatform({ now: () => now });
  await at.give(object('User', 'root', { spec: {} }), ...grant('root', '* *', 'User:root'));
  const { registry, store } = at.platform;
  const expiry = openKeyExpiry({
    kind: kindOf('ownedaccesskeys'),
    overdue: () => at.access.overdueKeys(KEPT),
    registry,
    store,
    logger: pino({ level: 'silent' }),
    events,
    clock: { now: () => now },
  });
  const admin = await at.giveKey('admin', { user: 'root' });
  return { at, admin, expiry, events, pass: (seconds) => (now += seconds * 1000) };
}

test('a key is removed when it ended long enough ago, in a commit that says so', async () => {
  const { at, expiry, pass } = await platform();
  await at.giveKey('short', { user: 'root', ttl: HOUR });
  await at.giveKey('long', { user: 'root', ttl: 48 * HOUR });
  pass(HOUR);
  expect(await expiry.sweep(NEVER)).toEqual([]);
  pass(24 * HOUR);
  expect(await expiry.sweep(NEVER)).toEqual(['short']);
  expect(at.platform.names('ownedaccesskeys')).toEqual(['admin', 'long']);
  const commit = git(at.platform.repository.gitDir, ['log', '-1', '--format=%an%n%B', 'main']);
  expect(commit).toContain('gitplane\ndelete OwnedAccessKey "short"');
  expect(commit).toContain('It ended');
  expect(await expiry.sweep(NEVER)).toEqual([]);
});

test('a key that got more time in the meantime stays', async () => {
  const { at, admin, expiry, pass } = await platform();
  await at.giveKey('short', { user: 'root', ttl: HOUR });
  pass(30 * HOUR);
  await at.patch(admin, 'ownedaccesskeys', 'short', (it) => {
    it.spec.ttl = 31 * HOUR;
  });
  expect(await expiry.sweep(NEVER)).toEqual([]);
  expect(at.platform.names('ownedaccesskeys')).toContain('short');
});

test('a protected key stays and does not keep others from going', async () => {
  const { at, expiry, pass } = await platform();
  const spec = { user: 'root', ttl: HOUR };
  await at.giveKey('kept', spec);
  const kept = at.platform.find('ownedaccesskeys', 'kept')?.object.metadata.name ?? '';
  await at.platform.commit({
    'OwnedAccessKey-kept.yaml': JSON.stringify({
      ...object('OwnedAccessKey', kept, { spec: { ...spec, key: `sha256:${'a'.repeat(64)}` } }),
      metadata: { name: kept, annotations: { 'gitplane.dev/non-deletable': 'true' } },
    }),
  });
  await at.giveKey('other', spec);
  pass(30 * HOUR);
  expect(await expiry.sweep(NEVER)).toEqual(['other']);
  expect(await expiry.sweep(NEVER)).toEqual([]);
  expect(at.platform.names('ownedaccesskeys')).toEqual(['admin', 'kept']);
});

test('many keys are removed in rounds, so that other writes are served between them', async () => {
  const { at, expiry, pass } = await platform();
  const keys = Array.from({ length: 70 }, (_, index) =>
    object('OwnedAccessKey', `k${index}`, {
      spec: { user: 'root', ttl: HOUR, key: `sha256:${String(index).padStart(64, '0')}` },
    }),
  );
  await at.give(...keys);
  pass(30 * HOUR);
  const stop = new AbortController();
  const interrupted = expiry.sweep(stop.signal);
  await vi.waitFor(() => expect(at.platform.names('ownedaccesskeys')).toHaveLength(21), 30_000);
  stop.abort();
  await expect(interrupted).rejects.toThrow('aborted');
  expect(await expiry.sweep(NEVER)).toHaveLength(20);
  const count = git(at.platform.repository.gitDir, [
    'rev-list',
    '--count',
    '--author=gitplane',
    'main',
  ]);
  expect(count).toBe('70');
});
