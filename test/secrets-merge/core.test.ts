/** The laws of the merge and the decisions, without a store and without git. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalTime } from '../../src/secrets-merge/canonical-time.ts';
import { decide, type Situation, type StoreView } from '../../src/secrets-merge/decide.ts';
import { decodeFromStore, encodeForStore } from '../../src/secrets-merge/encoding.ts';
import { type FingerprintMap, Fingerprints } from '../../src/secrets-merge/fingerprints.ts';
import { isMassDeletion, isStillNewer, looksStale } from '../../src/secrets-merge/guards.ts';
import { agreedFingerprints, mergeKeys } from '../../src/secrets-merge/merge.ts';
import { DEFAULT_POLICY, type SyncPolicy } from '../../src/secrets-merge/policy.ts';
import { NEW_STATE, type SyncState } from '../../src/secrets-merge/sync-state.ts';
import { runs } from '../support/properties.ts';

const fingerprints = new Fingerprints(Buffer.alloc(32, 1));
const BOTH: SyncPolicy = { ...DEFAULT_POLICY, direction: 'Both' };
const KEYS = ['a', 'b', 'c', '__proto__'];

/** Few values, so that sides agree by chance. */
const side: fc.Arbitrary<FingerprintMap> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...KEYS), fc.constantFrom('1', '2', '3')), {
    selector: ([key]) => key,
  })
  .map((entries) => new Map(entries));
const policy: fc.Arbitrary<SyncPolicy> = fc.record({
  direction: fc.constantFrom('Pull' as const, 'Push' as const, 'Both' as const),
  adopt: fc.constantFrom('Hold' as const, 'PreferGit' as const, 'PreferStore' as const),
  conflict: fc.constantFrom('Hold' as const, 'PreferGit' as const, 'PreferStore' as const),
  merge: fc.constantFrom('keys' as const, 'object' as const, [['a', 'b']]),
  deletionInGit: fc.constantFrom('Retain' as const, 'SoftDelete' as const),
  deletionInStore: fc.constantFrom('Retain' as const, 'Delete' as const),
  foreignKeys: fc.constantFrom('Sync' as const, 'Ignore' as const),
});
const sides = fc.record({ base: side, git: side, store: side });

function flip<T>(direction: T): T | 'Pull' | 'Push' {
  if (direction === 'Pull') return 'Push';
  return direction === 'Push' ? 'Pull' : direction;
}

function prefer(preference: SyncPolicy['conflict']): SyncPolicy['conflict'] {
  if (preference === 'PreferGit') return 'PreferStore';
  return preference === 'PreferStore' ? 'PreferGit' : 'Hold';
}

describe('the merge', () => {
  test('names every key that differs once, and no other', () => {
    fc.assert(
      fc.property(sides, policy, (input, rules) => {
        const { pull, push, conflicts, drift } = mergeKeys(input, rules);
        const named = [...pull, ...push, ...conflicts, ...drift].sort();
        const differing = KEYS.filter((key) => input.git.get(key) !== input.store.get(key)).sort();
        expect(named).toEqual(differing);
      }),
      { numRuns: runs(500) },
    );
  });

  test('treats both sides alike', () => {
    fc.assert(
      fc.property(sides, policy, ({ base, git, store }, rules) => {
        const there = mergeKeys({ base, git, store }, rules);
        const mirrored = {
          ...rules,
          direction: flip(rules.direction) as SyncPolicy['direction'],
          conflict: prefer(rules.conflict),
        };
        const back = mergeKeys({ base, git: store, store: git }, mirrored);
        expect(back).toEqual({ ...there, pull: there.push, push: there.pull });
      }),
      { numRuns: runs(500) },
    );
  });

  test('never moves a value over a changed one, unless a user prefers it or removed it', () => {
    fc.assert(
      fc.property(sides, policy, (input, rules) => {
        const { pull, push } = mergeKeys(input, { ...rules, conflict: 'Hold' });
        const { base, git, store } = input;
        for (const key of pull) expect([undefined, base.get(key)]).toContain(git.get(key));
        for (const key of push) expect([undefined, base.get(key)]).toContain(store.get(key));
      }),
      { numRuns: runs(500) },
    );
  });

  test('leaves nothing to do once it was carried out', () => {
    fc.assert(
      fc.property(sides, policy, (input, rules) => {
        const { pull, push, conflicts, drift } = mergeKeys(input, rules);
        fc.pre(conflicts.length === 0);
        const git = taken(input.git, pull, input.store);
        const store = taken(input.store, push, git);
        const agreed = { git: { asInGit: drift }, store: { asInStore: drift } };
        const unequal = rules.direction === 'Push' ? agreed.git : agreed.store;
        const base = agreedFingerprints({ base: input.base, git, store }, unequal);
        expect(mergeKeys({ base, git, store }, { ...rules, conflict: 'Hold' })).toEqual({
          pull: [],
          push: [],
          conflicts: [],
          drift,
        });
      }),
      { numRuns: runs(500) },
    );
  });

  test('does not mix a pair that belongs together', () => {
    const base = new Map([
      ['user', '1'],
      ['password', '1'],
    ]);
    const git = new Map([
      ['user', '2'],
      ['password', '1'],
    ]);
    const store = new Map([
      ['user', '1'],
      ['password', '2'],
    ]);

    expect(mergeKeys({ base, git, store }, BOTH)).toMatchObject({
      pull: ['password'],
      push: ['user'],
    });
    const merge = [['user', 'password']];
    expect(mergeKeys({ base, git, store }, { ...BOTH, merge }).conflicts).toEqual([
      'password',
      'user',
    ]);
  });

  test('is not a conflict where history tells which value is newer', () => {
    const [base, git, store] = [P({ a: '1' }), P({ a: '2' }), P({ a: '3' })];
    const input = { base, git, store };

    expect(mergeKeys(input, BOTH).conflicts).toEqual(['a']);
    expect(mergeKeys(input, BOTH, { git: [store], store: [] }).push).toEqual(['a']);
    expect(mergeKeys(input, BOTH, { git: [], store: [git] }).pull).toEqual(['a']);
    expect(mergeKeys(input, BOTH, { git: [store], store: [git] }).conflicts).toEqual(['a']);
  });
});

function taken(
  prints: FingerprintMap,
  keys: readonly string[],
  from: FingerprintMap,
): FingerprintMap {
  const result = new Map(prints);
  for (const key of keys) {
    const print = from.get(key);
    if (print === undefined) result.delete(key);
    else result.set(key, print);
  }
  return result;
}

const AT = { version: 3, createdTime: '2026-01-01T00:00:00.000000003Z' };
const P = (values: Readonly<Record<string, string>>): FingerprintMap =>
  new Map(Object.entries(values));

function live(prints: FingerprintMap, more: object = {}): StoreView {
  return { state: 'live', at: AT, prints, typed: new Set(), ...more };
}

function situation(
  change: Partial<Situation> & { base?: FingerprintMap; missingReads?: number },
): Situation {
  const { base, missingReads = 0, ...rest } = change;
  const state: SyncState = {
    ...NEW_STATE,
    missingReads,
    ...(base && { base: { prints: base, at: AT, commit: 'c1' } }),
  };
  return {
    git: { state: 'live', commit: 'c2', prints: P({}) },
    store: { state: 'absent' },
    state,
    policy: BOTH,
    owner: 'us',
    whole: (prints) => fingerprints.whole(prints),
    keepsHistory: true,
    ...rest,
  };
}

function git(prints: FingerprintMap): Situation['git'] {
  return { state: 'live', commit: 'c2', prints };
}

const ONE = P({ a: '1' });
const TWO = P({ a: '2' });
const THREE = P({ a: '3' });
const MARKER = { owner: 'us', whole: fingerprints.whole(ONE), version: 3 };
const PULL = DEFAULT_POLICY;

const DECISIONS: readonly [string, Parameters<typeof situation>[0], object][] = [
  ['nothing anywhere is nothing to do', {}, { do: 'rest' }],
  ['equal sides agree', { git: git(ONE), store: live(ONE) }, { do: 'rest', agreed: ONE }],
  ['what only git has is pushed', { git: git(ONE) }, { do: 'push', keys: ['a'], cas: 0 }],
  [
    'what only git has stays there when nothing is pushed',
    { git: git(ONE), policy: PULL },
    { difference: 'NotInStore' },
  ],
  [
    'what only the store has is pulled',
    { store: live(ONE), policy: PULL },
    { do: 'pull', keys: ['a'] },
  ],
  [
    'two strangers that differ are held',
    { git: git(ONE), store: live(TWO) },
    { do: 'hold', reason: 'AdoptionConflict' },
  ],
  [
    'adoption can prefer git',
    { git: git(ONE), store: live(TWO), policy: { ...BOTH, adopt: 'PreferGit' } },
    { do: 'push', cas: 3 },
  ],
  [
    'adoption can prefer the store',
    { git: git(ONE), store: live(TWO), policy: { ...PULL, adopt: 'PreferStore' } },
    { do: 'pull' },
  ],
  [
    'what stands in the marker was agreed: git moved on',
    { git: git(TWO), store: live(ONE, { marker: MARKER }) },
    { do: 'push' },
  ],
  [
    'what stands in the marker was agreed: the store moved on',
    { git: git(ONE), store: live(TWO, { marker: MARKER }) },
    { do: 'pull' },
  ],
  [
    'what stands in the marker of somebody else was not agreed with us',
    { git: git(TWO), store: live(ONE, { marker: { ...MARKER, owner: 'them' } }) },
    { do: 'hold', reason: 'AdoptionConflict' },
  ],
  [
    'what git lacks is not removed for the word of a marker: the object may have been made anew',
    { git: git(P({})), store: live(ONE, { marker: MARKER }) },
    { do: 'pull', keys: ['a'], push: [] },
  ],
  [
    'a key of another tool is not written',
    { git: git(ONE), store: live(P({}), { managedBy: 'eso' }) },
    { reason: 'ForeignOwner' },
  ],
  [
    'a change in git is pushed',
    { base: ONE, git: git(TWO), store: live(ONE) },
    { do: 'push', cas: 3 },
  ],
  [
    'a change in the store is pulled',
    { base: ONE, git: git(ONE), store: live(TWO) },
    { do: 'pull' },
  ],
  [
    'a change in git stays there when nothing is pushed',
    { base: ONE, git: git(TWO), store: live(ONE), policy: PULL },
    { difference: 'GitChanged' },
  ],
  [
    'two changes are looked into first',
    { base: ONE, git: git(TWO), store: live(THREE) },
    { do: 'look' },
  ],
  [
    'two changes are held',
    { base: ONE, git: git(TWO), store: live(THREE), history: { git: [], store: [] } },
    { do: 'hold', reason: 'Conflict', keys: ['a'] },
  ],
  [
    'a typed value is not written',
    { base: ONE, git: git(TWO), store: live(ONE, { typed: new Set(['a']) }) },
    { reason: 'UnsupportedValue' },
  ],
  [
    'nothing unseen is covered where nothing is kept',
    {
      base: ONE,
      git: git(TWO),
      store: live(THREE),
      keepsHistory: false,
      history: { git: [], store: [] },
      policy: { ...BOTH, conflict: 'PreferGit' },
    },
    { reason: 'NoHistory' },
  ],
  [
    'something missing is looked at again',
    { base: ONE, git: git(ONE), missingReads: 1 },
    { do: 'confirm' },
  ],
  [
    'a deletion in the store is retained',
    { base: ONE, git: git(ONE), missingReads: 2 },
    { difference: 'DeletedInStore' },
  ],
  [
    'a deletion in the store is followed on request',
    { base: ONE, git: git(ONE), missingReads: 2, policy: { ...BOTH, deletionInStore: 'Delete' } },
    { do: 'delete-in-git' },
  ],
  [
    'what changed outlives a deletion',
    { base: ONE, git: git(TWO), missingReads: 2, store: { state: 'deleted', at: AT } },
    { do: 'push', cas: 3 },
  ],
  [
    'an emptied store empties nothing',
    { base: ONE, git: git(ONE), store: live(P({})) },
    { difference: 'EmptiedInStore' },
  ],
  [
    'an emptied manifest empties nothing',
    { base: ONE, git: git(P({})), store: live(ONE) },
    { difference: 'EmptiedInGit' },
  ],
  [
    'a mount made anew is no deletion',
    { isOtherMount: true, git: git(ONE) },
    { reason: 'MountReplaced' },
  ],
  [
    'a deletion in git is retained',
    { base: ONE, git: { state: 'absent' }, store: live(ONE) },
    { do: 'forget' },
  ],
  [
    'a deletion in git hides what is ours, on request',
    {
      base: ONE,
      git: { state: 'absent' },
      store: live(ONE, { marker: MARKER }),
      policy: { ...BOTH, deletionInGit: 'SoftDelete' },
    },
    { do: 'delete-in-store', version: 3 },
  ],
  [
    'a deletion in git hides nothing that changed',
    {
      base: ONE,
      git: { state: 'absent' },
      store: live(TWO, { marker: MARKER }),
      policy: { ...BOTH, deletionInGit: 'SoftDelete' },
    },
    { do: 'forget' },
  ],
  [
    'keys of others are ignored on request',
    {
      base: ONE,
      git: git(ONE),
      store: live(P({ a: '1', b: '9' })),
      policy: { ...BOTH, foreignKeys: 'Ignore' },
    },
    { do: 'rest', agreed: ONE },
  ],
];

describe('the decision', () => {
  test.each(DECISIONS)('%s', (_title, change, expected) => {
    expect(decide(situation(change))).toMatchObject(expected);
  });

  test('a person decides about the pair that was shown, and about no other', () => {
    const history = { git: [], store: [] };
    const held = {
      commit: 'c2',
      git: fingerprints.whole(TWO),
      version: 3,
      store: fingerprints.whole(THREE),
    };
    const shown = situation({ base: ONE, git: git(TWO), store: live(THREE), history });
    const state = { ...shown.state, held };
    const ask = (resolution: Situation['resolution'], store = live(THREE)) =>
      decide({ ...shown, state, store, ...(resolution && { resolution }) }).do;

    expect(ask({ winner: 'git', id: 'c2' })).toBe('push');
    expect(ask({ winner: 'store', id: '3' })).toBe('pull');
    expect(ask({ winner: 'git', id: 'c1' })).toBe('hold');
    expect(ask({ winner: 'store', id: '3' }, live(P({ a: '4' })))).toBe('hold');
  });

  test.each<[string, 'git' | 'store', Partial<SyncPolicy>, string]>([
    ['for the store deletes where deletions are followed', 'store', {}, 'delete-in-git'],
    [
      'for the store deletes nothing that is retained',
      'store',
      { deletionInStore: 'Retain' },
      'rest',
    ],
    [
      'for the store deletes nothing where git takes nothing',
      'store',
      { direction: 'Push' },
      'rest',
    ],
    ['for git deletes nothing, though it may not write', 'git', { direction: 'Pull' }, 'rest'],
    ['for git writes what was deleted', 'git', {}, 'push'],
  ])('a decision on a secret that an older store does not have %s', (_what, winner, more, done) => {
    const policy: SyncPolicy = { ...BOTH, deletionInStore: 'Delete', ...more };
    const older = { reason: 'StoreOlder' } as NonNullable<Situation['older']>;
    const shown = situation({ base: ONE, git: git(TWO), older, policy });
    const held = {
      commit: 'c2',
      git: fingerprints.whole(TWO),
      version: 0,
      store: fingerprints.whole(P({})),
    };
    const resolution = { winner, id: winner === 'git' ? 'c2' : '0' };
    expect(decide({ ...shown, state: { ...shown.state, held }, resolution }).do).toBe(done);
  });

  describe('a store that was restored', () => {
    const NONE = P({});
    const keeps = { deletionInStore: 'Retain', deletionInGit: 'Retain' } as const;
    const follows = { deletionInStore: 'Delete', deletionInGit: 'SoftDelete' } as const;

    test.each<[string, Partial<SyncPolicy>, FingerprintMap, FingerprintMap, object]>([
      ['nobody decides without a policy', {}, TWO, ONE, { do: 'hold', reason: 'StoreOlder' }],
      ['git wins', { storeOlder: 'PreferGit', ...keeps }, TWO, ONE, { do: 'push', keys: ['a'] }],
      ['the store wins', { storeOlder: 'PreferStore', ...keeps }, TWO, ONE, { do: 'pull' }],
      [
        'git wins and holds nothing, which is followed',
        { storeOlder: 'PreferGit', ...follows },
        NONE,
        ONE,
        { do: 'push', keys: ['a'] },
      ],
      [
        'git wins and holds nothing, which is not followed',
        { storeOlder: 'PreferGit', ...follows, deletionInGit: 'Retain' },
        NONE,
        ONE,
        { do: 'rest', difference: 'EmptiedInGit', keys: ['a'] },
      ],
      [
        'the store wins and holds nothing, which is followed',
        { storeOlder: 'PreferStore', ...follows },
        TWO,
        NONE,
        { do: 'pull', keys: ['a'] },
      ],
      [
        'the store wins and holds nothing, which is not followed',
        { storeOlder: 'PreferStore', ...follows, deletionInStore: 'Retain' },
        TWO,
        NONE,
        { do: 'rest', difference: 'EmptiedInStore', keys: ['a'] },
      ],
      [
        'nothing is left to decide where both hold the same',
        { storeOlder: 'PreferStore', ...keeps },
        NONE,
        NONE,
        { do: 'rest', agreed: NONE },
      ],
    ])('%s', (_what, more, inGit, inStore, expected) => {
      const older = { reason: 'StoreOlder' } as NonNullable<Situation['older']>;
      const shown = situation({ base: THREE, git: git(inGit), store: live(inStore), older });
      expect(decide({ ...shown, policy: { ...BOTH, ...more } })).toMatchObject(expected);
    });

    test.each(['PreferGit', 'PreferStore'] as const)(
      'no policy decides on values that a standby lags behind with: %s',
      (storeOlder) => {
        const older = { reason: 'StoreLags' } as NonNullable<Situation['older']>;
        const shown = situation({ base: THREE, git: git(TWO), store: live(ONE), older });
        expect(decide({ ...shown, policy: { ...BOTH, storeOlder } })).toMatchObject({
          ...{ do: 'hold', reason: 'StoreLags' },
        });
      },
    );
  });

  test('writes nothing while a covered value waits for a user', () => {
    const shown = situation({ base: ONE, git: git(TWO), store: live(ONE) });

    expect(decide({ ...shown, state: { ...shown.state, covered: [AT] } })).toMatchObject({
      reason: 'CoveredValue',
    });
  });
});

describe('the guards', () => {
  const state: SyncState = {
    ...NEW_STATE,
    base: { prints: ONE, at: AT, commit: 'c', keyCreatedTime: '2026-01-01T00:00:00.000000001Z' },
  };
  const at = (version: number, nanoseconds: number) => ({
    version,
    createdTime: `2026-01-01T00:00:00.00000000${nanoseconds}Z`,
  });
  const key = (made: number, read: { version: number; createdTime: string }) => ({
    createdTime: at(0, made).createdTime,
    currentVersion: read.version,
    versions: new Map([[read.version, read.createdTime]]),
    undeleted: new Set([read.version]),
    maxVersions: 10,
  });

  test.each([
    ['the base itself', at(3, 3), false],
    ['a later version', at(4, 4), false],
    ['an earlier version', at(2, 2), true],
    ['a smaller version that is younger: the key was made anew', at(1, 5), false],
    ['the same instant with a smaller number', at(2, 3), true],
    ['a greater number that is older', at(4, 2), true],
  ])('%s is judged by its time', (_what, read, stale) => {
    expect(looksStale(state, read)).toBe(stale);
  });

  test('a clock that stepped back does not stop a later version of the same life', () => {
    const read = at(4, 2);

    expect(isStillNewer(state, read, key(1, read))).toBe(true);
    expect(isStillNewer(state, at(2, 2), key(1, at(2, 2)))).toBe(false);
    expect(isStillNewer(state, read, key(1, at(4, 5)))).toBe(false);
    expect(isStillNewer(state, read, key(0, read))).toBe(false);
    expect(isStillNewer(state, at(1, 2), key(2, at(1, 2)))).toBe(true);
  });

  test('a seen version is known as well, with the life of its key', () => {
    const seen = at(2, 5);
    const inLife = (made: number): SyncState => ({
      ...state,
      seen: { ...seen, keyCreatedTime: at(0, made).createdTime },
    });
    const read = at(2, 4);

    expect(looksStale({ ...state, seen }, read)).toBe(true);
    expect(isStillNewer({ ...state, seen }, at(7, 4), key(2, at(7, 4)))).toBe(false);
    expect(isStillNewer(inLife(4), at(7, 4), key(2, at(7, 4)))).toBe(false);
    expect(isStillNewer(inLife(2), at(7, 4), key(2, at(7, 4)))).toBe(true);
  });

  test.each([
    [3, 5, false],
    [4, 5, true],
    [10, 100, false],
    [11, 100, true],
    [0, 0, false],
  ])('%i deletions of %i objects: %s', (deletions, tracked, isMass) => {
    expect(isMassDeletion(deletions, tracked)).toBe(isMass);
  });
});

describe('values', () => {
  test('every value survives the way to the store and back', () => {
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
      fc.string().map((text) => Buffer.from(`base64:${text}`)),
    );
    fc.assert(
      fc.property(bytes, (value) => {
        expect(Buffer.from(decodeFromStore(encodeForStore(value))).equals(value)).toBe(true);
      }),
      { numRuns: runs(500) },
    );
  });

  test.each([
    ['base64:QUJD', 'ABC'],
    ['base64:QUJ', 'base64:QUJ'],
    ['base64:QUJD\n', 'base64:QUJD\n'],
    ['plain', 'plain'],
  ])('%j of another client is read as %j', (text, meaning) => {
    expect(Buffer.from(decodeFromStore(text)).toString()).toBe(meaning);
  });

  test('a fingerprint belongs to one key, one value and one secret', () => {
    const print = (key: string, value: string, secret = 1) =>
      new Fingerprints(Buffer.alloc(32, secret)).of(new Map([[key, Buffer.from(value)]])).get(key);
    const all = [
      print('a', '1'),
      print('a', '2'),
      print('b', '1'),
      print('a', '1', 2),
      print('a1', ''),
    ];

    expect(new Set(all).size).toBe(all.length);
    expect(print('a', '1')).toBe(all[0]);
  });

  test.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000000000Z'],
    ['2026-01-02T03:04:05.12Z', '2026-01-02T03:04:05.120000000Z'],
    ['2026-01-02T05:04:05.123456789+02:00', '2026-01-02T03:04:05.123456789Z'],
    ['2026-01-02 03:04:05.5 +0000 UTC', '2026-01-02T03:04:05.500000000Z'],
    ['', ''],
    ['yesterday', undefined],
  ])('the time %j sorts as %j', (text, expected) => {
    expect(canonicalTime(text)).toBe(expected);
  });
});
