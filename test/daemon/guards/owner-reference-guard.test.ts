/** A reference that holds up the deletion of its owner takes the right to delete the owner. */
import { beforeEach, describe, expect, test } from 'vitest';
import {
  filesOf,
  type GuardedPlatform,
  grant,
  MANAGEMENT,
  object,
  openGuardedPlatform,
} from '../../support/guarded-platform.ts';

let at: GuardedPlatform;
let eve: string;

beforeEach(async () => {
  at = await openGuardedPlatform();
  await at.give(
    object('User', 'eve', { spec: {} }),
    object('Team', 'own', { spec: {} }),
    object('Team', 'foreign', { spec: {} }),
    object('Team', 'loose', { spec: {} }),
    ...grant('eve', 'create,update,patch teams', 'User:eve'),
    ...grant('deletes', 'delete teams own', 'User:eve'),
  );
  eve = await at.giveKey('eve', { user: 'eve' });
});

function child(name: string, owner: string, blockOwnerDeletion?: boolean): object {
  const uid = at.platform.find('teams', owner)?.object.metadata.uid;
  const reference = { apiVersion: `${MANAGEMENT}/v1`, kind: 'Team', name: owner, uid };
  const ownerReferences = [
    blockOwnerDeletion === undefined ? reference : { ...reference, blockOwnerDeletion },
  ];
  const made = object('Team', name, { spec: {} }) as { metadata: object };
  return { ...made, metadata: { ...made.metadata, ownerReferences } };
}

// covers: metadata.ownerReferences.blockOwnerDeletion.right errors.blockOwnerDeletion
describe('blockOwnerDeletion', () => {
  test.each<[string, string, boolean | undefined, boolean]>([
    ['of an owner that the user may delete is taken', 'own', true, true],
    ['of an owner that the user may not delete is refused', 'foreign', true, false],
    ['that is false takes no right', 'foreign', false, true],
    ['that is absent takes no right', 'foreign', undefined, true],
  ])('%s', async (_claim, owner, blocks, allowed) => {
    const made = await at.create(eve, 'teams', child('made', owner, blocks));
    const changed = await at.patch(eve, 'teams', 'loose', (team) => {
      const { metadata } = child('loose', owner, blocks) as { metadata: object };
      Object.assign(team.metadata, metadata);
    });
    const pushed = await at.push(eve, filesOf([child('pushed', owner, blocks)]));

    expect([made.code, changed.code]).toEqual(allowed ? [200, 200] : [422, 422]);
    expect(pushed.code).toBe(allowed ? 200 : 403);
    if (allowed) return;
    for (const { text } of [made, changed, pushed]) {
      expect(text).toContain(
        'cannot set blockOwnerDeletion: user "eve" may not delete Team "foreign"',
      );
    }
  });
});
