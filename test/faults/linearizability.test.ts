/** The judge is judged first: histories that are known to be possible, and impossible. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { check, type Operation } from '../support/linearizability.ts';
import { type Input, type Output, objectModel, type State } from './object-model.ts';

type Op = Operation<Input, Output>;

/** `at` is [called, returned]. */
function op(at: readonly [number, number], input: Input, output?: Output): Op {
  return { called: at[0], returned: at[1], input, output };
}

const NEVER = Number.POSITIVE_INFINITY;
const notFound: Output = { ok: false, reason: 'NotFound' };
const conflict: Output = { ok: false, reason: 'Conflict' };
const exists: Output = { ok: false, reason: 'AlreadyExists' };
const create = (at: readonly [number, number], value: string): Op =>
  op(at, { op: 'create', value }, { ok: true, value, version: value });
const patch = (at: readonly [number, number], value: string): Op =>
  op(at, { op: 'patch', value }, { ok: true, value, version: value });
const read = (at: readonly [number, number], value: string): Op =>
  op(at, { op: 'read' }, { ok: true, value, version: value });
const update = (at: readonly [number, number], value: string, version: string): Op =>
  op(at, { op: 'update', value, version }, { ok: true, value, version: value });
const push = (at: readonly [number, number], value: string | null): Op =>
  op(at, { op: 'push', value }, { ok: true });
const remove = (at: readonly [number, number]): Op => op(at, { op: 'delete' }, { ok: true });

describe('is possible', () => {
  test.each<[string, readonly Op[]]>([
    ['nothing', []],
    ['one after the other', [create([0, 1], 'a'), patch([2, 3], 'b'), read([4, 5], 'b')]],
    [
      'a read during a write that sees it',
      [create([0, 1], 'a'), patch([2, 9], 'b'), read([3, 4], 'b')],
    ],
    [
      'a read during a write that does not',
      [create([0, 1], 'a'), patch([2, 9], 'b'), read([3, 4], 'a')],
    ],
    [
      'two reads during a write, before and after it',
      [create([0, 1], 'a'), patch([2, 9], 'b'), read([3, 4], 'a'), read([5, 6], 'b')],
    ],
    [
      'one of two updates of a version',
      [
        create([0, 1], 'a'),
        update([2, 5], 'b', 'a'),
        op([3, 4], { op: 'update', value: 'c', version: 'a' }, conflict),
      ],
    ],
    [
      'a write without an answer that is seen later',
      [
        create([0, 1], 'a'),
        op([2, NEVER], { op: 'patch', value: 'b' }),
        read([5, 6], 'a'),
        read([8, 9], 'b'),
      ],
    ],
    [
      'a write without an answer that never was',
      [op([0, NEVER], { op: 'create', value: 'a' }), op([5, 6], { op: 'read' }, notFound)],
    ],
    [
      'a push between two reads',
      [create([0, 1], 'a'), push([2, 8], 'b'), read([3, 4], 'a'), read([9, 10], 'b')],
    ],
    [
      'a name used again',
      [
        create([0, 1], 'a'),
        remove([2, 3]),
        op([4, 5], { op: 'read' }, notFound),
        create([6, 7], 'b'),
      ],
    ],
    [
      'one of two creations',
      [create([0, 5], 'a'), op([1, 4], { op: 'create', value: 'b' }, exists)],
    ],
  ])('%s', (_title, history) => {
    expect(check(objectModel, history).linearizable).toBe(true);
  });
});

describe('is impossible', () => {
  test.each<[string, readonly Op[]]>([
    ['a value that nobody wrote', [create([0, 1], 'a'), read([2, 3], 'x')]],
    ['a stale read', [create([0, 1], 'a'), patch([2, 3], 'b'), read([4, 5], 'a')]],
    ['a read before its write', [read([0, 1], 'a'), create([2, 3], 'a')]],
    [
      'to see a write, and then not any more',
      [create([0, 1], 'a'), patch([2, 9], 'b'), read([3, 4], 'b'), read([5, 6], 'a')],
    ],
    [
      'a lost update: two of one version',
      [create([0, 1], 'a'), update([2, 5], 'b', 'a'), update([3, 6], 'c', 'a')],
    ],
    [
      'an update of a version that is over',
      [create([0, 1], 'a'), patch([2, 3], 'b'), update([4, 5], 'c', 'a')],
    ],
    [
      'a conflict without reason',
      [create([0, 1], 'a'), op([2, 3], { op: 'update', value: 'b', version: 'a' }, conflict)],
    ],
    ['two creations', [create([0, 5], 'a'), create([1, 4], 'b')]],
    ['a deletion that comes back', [create([0, 1], 'a'), remove([2, 3]), read([4, 5], 'a')]],
    [
      'a lost push',
      [create([0, 1], 'a'), push([2, 3], 'b'), patch([4, 5], 'c'), read([6, 7], 'b')],
    ],
    [
      'a write without an answer that is seen and undone',
      [
        create([0, 1], 'a'),
        op([2, NEVER], { op: 'patch', value: 'b' }),
        read([3, 4], 'b'),
        read([5, 6], 'a'),
      ],
    ],
    ['not found where it is', [create([0, 1], 'a'), op([2, 3], { op: 'read' }, notFound)]],
  ])('%s', (_title, history) => {
    expect(check(objectModel, history).linearizable).toBe(false);
  });
});

const draw = fc.record({
  kind: fc.constantFrom('read', 'create', 'patch', 'update', 'delete', 'push'),
  /** How long before and after its effect the operation lasts. */
  before: fc.integer({ min: 0, max: 30 }),
  after: fc.integer({ min: 1, max: 30 }),
  isFresh: fc.boolean(),
  isAnswered: fc.integer({ min: 0, max: 9 }),
});

/** Operations that take effect at 10, 20, 30 …, and last from some time before to some time after. */
function histories(
  draws: readonly (typeof draw extends fc.Arbitrary<infer T> ? T : never)[],
): Op[] {
  let state: State = null;
  return draws.map((drawn, i) => {
    const value = `v${i}`;
    const version = drawn.isFresh ? (state?.version ?? 'none') : 'old';
    const input = inputOf(drawn.kind, value, version);
    const output = answer(state, input);
    const next = objectModel.step(state, input, output);
    if (next === undefined) throw new Error('the model refuses its own answer');
    state = next === null ? null : { ...next, version: next.value };
    const at = (i + 1) * 10;
    const isAnswered = drawn.isAnswered > 0;
    const returned = isAnswered ? at + drawn.after : NEVER;
    return op([at - drawn.before, returned], input, isAnswered ? output : undefined);
  });
}

function inputOf(kind: string, value: string, version: string): Input {
  if (kind === 'read' || kind === 'delete') return { op: kind };
  if (kind === 'update') return { op: kind, value, version };
  return { op: kind as 'create' | 'patch' | 'push', value };
}

/** What a correct server says. */
function answer(state: State, input: Input): Output {
  if (input.op === 'push') return { ok: true };
  if (input.op === 'create') {
    return state === null ? { ok: true, value: input.value, version: input.value } : exists;
  }
  if (state === null) return notFound;
  if (input.op === 'delete') return { ok: true };
  if (input.op === 'read') return { ok: true, value: state.value, version: state.value };
  if (input.op === 'update' && input.version !== state.version) return conflict;
  return { ok: true, value: input.value, version: input.value };
}

test('answers of a correct server are always possible, however its operations overlap', () => {
  fc.assert(
    fc.property(fc.array(draw, { maxLength: 25 }), (draws) => {
      expect(check(objectModel, histories(draws)).linearizable).toBe(true);
    }),
  );
});

test('a read never returns a value that was overwritten before it began', () => {
  fc.assert(
    fc.property(fc.array(draw, { minLength: 1, maxLength: 20 }), (draws) => {
      const history = histories(draws);
      const end = 10_000;
      const stale = [create([end, end + 1], 'x'), patch([end + 2, end + 3], 'y')];
      const done = history.map((one) => ({ ...one, returned: Math.min(one.returned, end - 1) }));
      const last = [remove([end - 1, end - 1]), ...stale, read([end + 4, end + 5], 'x')];
      const cleared = [op([end - 2, end - 2], { op: 'push', value: 'z' }, { ok: true }), ...last];
      expect(check(objectModel, [...done, ...cleared]).linearizable).toBe(false);
    }),
  );
});
