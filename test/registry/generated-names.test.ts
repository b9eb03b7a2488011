/** Names that the server chooses, where chance gives one that is taken. */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterEach, expect, test } from 'vitest';
import { openTestPlatform } from '../support/platform.ts';

const { randomInt } = crypto;

/** Chance gives the numbers in turn, and the last one from then on. */
function fixChance(...numbers: [number, ...number[]]): void {
  const [last] = numbers.slice(-1);
  const queue = [...numbers];
  crypto.randomInt = (() => queue.shift() ?? last) as typeof randomInt;
  syncBuiltinESMExports();
}

afterEach(() => {
  crypto.randomInt = randomInt;
  syncBuiltinESMExports();
});

const named = { metadata: { generateName: 'team-' }, spec: {} };

// covers: errors.generatedNameTaken
test('a generated name that exists is 409', async () => {
  const platform = await openTestPlatform();
  fixChance(0);
  const { object } = await platform.create('teams', named);
  expect(object.metadata.name).toBe('team-bbbbb');

  await expect(platform.create('teams', named)).rejects.toMatchObject({
    code: 409,
    reason: 'AlreadyExists',
    message: expect.stringContaining('"team-bbbbb" already exists'),
  });
  expect(platform.names('teams')).toEqual(['team-bbbbb']);
});

test('another name is tried before that', async () => {
  const platform = await openTestPlatform();
  fixChance(0);
  await platform.create('teams', named);
  fixChance(0, 0, 0, 0, 0, 1);
  const { object } = await platform.create('teams', named);

  expect(object.metadata.name).toBe('team-ccccc');
});
