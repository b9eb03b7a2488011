/** A reference takes the right to delete its object, and one that holds up its owner the right to delete that. */
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
    object('Team', 'kept', { spec: {} }),
    ...grant('deletes', 'delete teams own,loose', 'User:eve'),
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

describe('ownerReferences', () => {
  const refused = 'may not delete Team "kept"';

  test('a change of those of a present object takes the right to delete it', async () => {
    const patched = await at.patch(eve, 'teams', 'kept', (team) => {
      const { metadata } = child('kept', 'own') as { metadata: object };
      Object.assign(team.metadata, metadata);
    });
    const pushed = await at.push(eve, {
      'Team-kept.yaml': filesOf([child('kept', 'own')])['Team-kept.yaml'] ?? '',
    });
    for (const { code, text } of [patched, pushed])
      expect([code, text]).toEqual([403, expect.stringContaining(refused)]);
  });

  test('references that stay or go take no right', async () => {
    await at.give(child('kept', 'own'));
    const labelled = await at.patch(eve, 'teams', 'kept', (team) => {
      team.metadata.labels = { a: 'b' };
    });
    const freed = await at.patch(eve, 'teams', 'kept', (team) => {
      delete team.metadata.ownerReferences;
    });
    expect([labelled.code, freed.code]).toEqual([200, 200]);
  });
});
