/** Places for requests at a time, in all and of one user. */
import { expect, test } from 'vitest';
import { UserSlots } from '../../../src/server/overview/user-slots.ts';

function hold(slots: UserSlots, user: string): { end(): void; readonly done: Promise<void> } {
  let end = (): void => undefined;
  const work = () => new Promise<void>((resolve) => (end = resolve));
  const done = slots.run(user, 'requests wait', work);
  return { end: () => end(), done };
}

test('a user with many requests leaves places to others, and gets them back', async () => {
  const slots = new UserSlots(3, 2);
  const held = [hold(slots, 'eve'), hold(slots, 'eve')];
  const refused = { code: 429, message: 'Too many requests wait now' };
  await expect(hold(slots, 'eve').done).rejects.toMatchObject(refused);
  const other = hold(slots, 'ann');
  await expect(hold(slots, 'bob').done).rejects.toMatchObject(refused);
  for (const one of held) one.end();
  await Promise.all(held.map(({ done }) => done));
  const again = hold(slots, 'eve');
  for (const one of [other, again]) one.end();
  await Promise.all([other.done, again.done]);
});

test('a place is free again after work that failed', async () => {
  const slots = new UserSlots(1, 1);
  const work = () => Promise.reject(new Error('broken'));
  await expect(slots.run('ann', 'requests wait', work)).rejects.toThrow('broken');
  expect(await slots.run('ann', 'requests wait', async () => 7)).toBe(7);
});
