/** A store that was restored from an older copy: reported with both versions, settled by a decision. */
import { describe, expect, test, vi } from 'vitest';
import { openSynced, PATH } from './synced-platform.ts';

describe('a store that was put back to an older copy', () => {
  async function putBack() {
    const synced = await openSynced();
    for (const password of ['one', 'two', 'three', 'four']) synced.mount.put(PATH, { password });
    await synced.tie({ password: 'four' }, { direction: 'both' });
    await synced.cycle();
    expect(synced.message()).toContain('version 4');
    synced.mount.restore(PATH, 2);
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();
    return synced;
  }

  test('is told with both versions, in a condition, an event and the log, also after a restart', async () => {
    const before = await putBack();
    expect(before.conditions()).toEqual(['Synced=False StoreOlder']);
    const synced = await before.restart();
    await synced.edit({ password: 'five' });
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False StoreOlder']);
    expect(synced.message()).toMatch(/version 2, after version 4\): password\. .*store@2/);
    expect(synced.mount.live(PATH)).toEqual({ password: 'two' });
    expect(synced.data()).toEqual({ password: 'five' });
    expect(synced.log.join('\n')).toContain('StoreOlder');
    expect(synced.events.list().map(({ reason }) => reason)).toContain('StoreOlder');
    expect(synced.sync.report().counts).toMatchObject({ held: 1, synced: 0 });
  });

  test.each([
    ['git', 'four', 3],
    ['store', 'two', 2],
  ])('is settled by a decision for %s', async (winner, password, version) => {
    const synced = await putBack();
    const [decision = ''] = new RegExp(`${winner}@[0-9a-f]+`).exec(synced.message()) ?? [];
    await synced.annotate({ resolve: decision });
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.message()).toContain(`version ${version})`);
    expect(synced.data()).toEqual({ password });
    expect(synced.mount.live(PATH)).toEqual({ password });
    await synced.edit({ password: 'later' });
    await vi.waitFor(() => expect(synced.mount.live(PATH)).toEqual({ password: 'later' }), 10_000);
  });
});
