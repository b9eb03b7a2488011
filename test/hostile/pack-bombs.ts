/** Hostile repositories: packs, deltas, blobs that unpack to far more than they take, and commits. */
import { deflateSync } from 'node:zlib';
import { type Bomb, type HostilePush, type Target, withFolder } from './bombs.ts';
import {
  commitOf,
  deltaOf,
  entryHeader,
  FILE,
  Pack,
  rawTree,
  TYPE_NUMBERS,
  tagOf,
} from './objects.ts';

const MIB = 1024 * 1024;

/** A sound push, and what is done to its pack. */
function pack(
  title: string,
  place: RegExp,
  spoil: (pack: Pack, target: Target) => Buffer | undefined,
): Bomb {
  return {
    name: `a pack ${title}`,
    make: (target) => {
      const one = new Pack();
      const id = one.tree([{ mode: FILE, name: 'a.yaml', id: one.blob('a: 1\n') }]);
      const { tip } = withFolder(target, one, { name: 'sound', id });
      return { pack: spoil(one, target) ?? one.bytes(), tip };
    },
    place,
    isBroken: true,
  };
}

const UNPACK = /unpack|index-pack|pack /i;

const PACKS: readonly Bomb[] = [
  pack('that is cut off', UNPACK, (one) => one.bytes().subarray(0, -40)),
  pack('with a wrong checksum', UNPACK, (one) => {
    const bytes = one.bytes();
    return bytes.fill(0, bytes.length - 20);
  }),
  pack('that says to have 4,294,967,295 objects', UNPACK, (one) =>
    one.bytes({ count: 2 ** 32 - 1 }),
  ),
  pack('that says to have 100,000,000 objects', UNPACK, (one) => one.bytes({ count: 1e8 })),
  pack('of version 9', UNPACK, (one) => one.bytes({ version: 9 })),
  pack('that is no pack', UNPACK, () => Buffer.from('garbage'.repeat(1000))),
  pack('with bytes that do not inflate', UNPACK, (one) => {
    one.raw(entryHeader(TYPE_NUMBERS.blob, 100), Buffer.alloc(100, 0xaa));
    return undefined;
  }),
  pack('with an object that says to have 4 TiB', UNPACK, (one) => {
    one.raw(entryHeader(TYPE_NUMBERS.tree, 2n ** 42n), deflateSync(Buffer.alloc(100)));
    return undefined;
  }),
  pack('with an object that is larger than it says', UNPACK, (one) => {
    one.raw(entryHeader(TYPE_NUMBERS.blob, 10), deflateSync(Buffer.alloc(MIB)));
    return undefined;
  }),
  pack('with an object of an unknown type', UNPACK, (one) => {
    one.raw(entryHeader(5, 10), deflateSync(Buffer.alloc(10)));
    return undefined;
  }),
  pack('without the objects of its commit', /missing|unpack|[0-9a-f]{40}/, () =>
    new Pack().bytes(),
  ),
];

function delta(title: string, add: (pack: Pack) => void, more: Partial<Bomb> = {}): Bomb {
  const spoil = (one: Pack): undefined => void add(one);
  return { ...pack(`with ${title}`, UNPACK, spoil), ...more };
}

const DELTAS: readonly Bomb[] = [
  delta('a delta that makes 4 GB', (one) => {
    const base = one.zeros(16 * MIB - 1);
    one.delta(base, deltaOf({ base: 16 * MIB - 1, copies: new Array(255).fill(16 * MIB - 1) }));
  }),
  delta(
    'a thousand deltas of 32 MB each',
    (one) => {
      const size = 16 * MIB - 1;
      const base = one.zeros(size);
      for (let i = 0; i < 1000; i++) {
        const added = Buffer.from(`delta ${i}`);
        one.delta(base, deltaOf({ base: size, copies: [size, size], added }));
      }
    },
    { isLong: true },
  ),
  delta('deltas that are each based on the other', (one) => {
    one.delta('1'.repeat(40), deltaOf({ base: 5, copies: [5] }));
    one.delta('2'.repeat(40), deltaOf({ base: 5, copies: [5] }));
  }),
  delta('a delta of an object that is not there', (one) => {
    one.delta('3'.repeat(40), deltaOf({ base: 5, copies: [5] }));
  }),
  delta('a delta that is wrong about its base', (one) => {
    one.delta(one.blob('a base'), deltaOf({ base: 5000, copies: [5000] }));
  }),
  delta('a delta that is wrong about its result', (one) => {
    const base = one.blob('a base');
    one.delta(base, deltaOf({ base: 6, copies: [6], result: 2 ** 30 }));
  }),
  delta('a delta before its own start', (one) => {
    const bytes = deltaOf({ base: 6, copies: [6] });
    one.raw(entryHeader(TYPE_NUMBERS.ofsDelta, bytes.length), Buffer.from([0]), deflateSync(bytes));
  }),
  {
    name: 'a chain of 4,000 deltas',
    make: (target) => {
      const one = new Pack();
      let base = 'x'.repeat(100);
      let id = one.blob(base);
      const names = new Map<string, string>();
      for (let i = 0; i < 4000; i++) {
        const added = Buffer.from(String(i));
        one.delta(id, deltaOf({ base: base.length, copies: [100], added }));
        base = `${'x'.repeat(100)}${i}`;
        id = new Pack().blob(base);
        names.set(String(i), id);
      }
      const tree = one.tree([...names].map(([name, of]) => ({ mode: FILE, name, id: of })));
      return withFolder(target, one, { name: 'chain', id: tree });
    },
  },
];

function zeros(name: string, size: number, more: Partial<Bomb> = {}): Bomb {
  return {
    name: `${size / MIB} MiB of zeros as ${name}`,
    make: (target) => {
      const one = new Pack();
      return withFolder(target, one, { name, id: one.zeros(size), mode: FILE });
    },
    ...more,
  };
}

/** The object itself, or the limit that git met. */
const LIMIT = /memory limit|processor time|unpack|bytes/;

const ZIP_BOMBS: readonly Bomb[] = [
  zeros('zeros.yaml', 200 * MIB, { place: /zeros\.yaml|processor time/ }),
  zeros('zeros.yml', 1024 * MIB, { place: /zeros\.yml|processor time/, isLong: true }),
  zeros('zeros.bin', 200 * MIB),
  {
    name: 'twenty manifests of 20 MiB of zeros',
    make: (target) => {
      const one = new Pack();
      const files = Array.from({ length: 20 }, (_, i) => ({
        mode: FILE,
        name: `${i}.yaml`,
        id: one.zeros(20 * MIB + i),
      }));
      return withFolder(target, one, { name: 'many', id: one.tree(files) });
    },
    place: /many\/\d+\.yaml|processor time/,
    isLong: true,
  },
  {
    name: 'a tree of 600 MiB of zeros',
    make: (target) => {
      const one = new Pack();
      return withFolder(target, one, { name: 'zeros', id: one.zeros(600 * MIB, 'tree') });
    },
    place: LIMIT,
    isBroken: true,
  },
  {
    name: 'a commit of 600 MiB of zeros',
    make: () => {
      const one = new Pack();
      const tip = one.zeros(600 * MIB, 'commit');
      return { pack: one.bytes(), tip };
    },
    place: LIMIT,
    isBroken: true,
  },
  {
    name: 'a manifest of nested aliases',
    make: (target) => {
      const one = new Pack();
      const levels = Array.from({ length: 40 }, (_, i) =>
        i === 0 ? 'a0: &a0 [x]' : `a${i}: &a${i} [${`*a${i - 1},`.repeat(9)}*a${i - 1}]`,
      );
      return withFolder(target, one, {
        name: 'aliases.yaml',
        id: one.blob(`${levels.join('\n')}\n`),
        mode: FILE,
      });
    },
    place: /aliases\.yaml/,
  },
];

function commit(title: string, make: (target: Target, one: Pack) => Buffer, place?: RegExp): Bomb {
  return {
    name: `a commit ${title}`,
    make: (target): HostilePush => {
      const one = new Pack();
      const tip = one.add('commit', make(target, one));
      return { pack: one.bytes(), tip };
    },
    ...(place && { place }),
  };
}

const COMMITS: readonly Bomb[] = [
  commit(
    'with 5,000 parents',
    (target, one) => {
      const tree = one.tree(target.root);
      const parents = Array.from({ length: 5000 }, (_, i) =>
        one.add('commit', commitOf(tree, [target.head], { message: `Parent ${i}` })),
      );
      return commitOf(tree, parents);
    },
    /parents/,
  ),
  commit(
    'with one parent 5,000 times',
    (target, one) => commitOf(one.tree(target.root), new Array(5000).fill(target.head)),
    /parents|[0-9a-f]{40}/,
  ),
  commit(
    'with a message of 20 MiB',
    (target, one) =>
      commitOf(one.tree(target.root), [target.head], { message: 'm'.repeat(20 * MIB) }),
    /commit|message/,
  ),
  commit(
    'with a header of 20 MiB',
    (target, one) =>
      commitOf(one.tree(target.root), [target.head], {
        headers: `x ${'h'.repeat(20 * MIB)}\n`,
      }),
    /commit|header/,
  ),
  commit(
    'without an author',
    (target, one) => commitOf(one.tree(target.root), [target.head], { author: '' }),
    /fsck error|[0-9a-f]{40}/,
  ),
  commit(
    'whose tree is a file',
    (target, one) => commitOf(one.blob('a: 1\n'), [target.head]),
    /[0-9a-f]{40}|tree|unpack/,
  ),
  commit(
    'whose tree is not there',
    (target) => commitOf('4'.repeat(40), [target.head]),
    /[0-9a-f]{40}|missing|unpack/,
  ),
  commit(
    'whose file is not there',
    (target, one) => {
      const file = { mode: FILE, name: 'absent.yaml', id: '5'.repeat(40) };
      return commitOf(one.add('tree', rawTree([file])), [target.head]);
    },
    /[0-9a-f]{40}|missing|unpack/,
  ),
].map((bomb, at) => (at >= 5 ? { ...bomb, isBroken: true } : bomb));

const MB = 1_000_000;

function line(title: string, count: number, more: (i: number) => object, place: RegExp): Bomb {
  return {
    name: `${count} commits ${title}`,
    make: (target) => {
      const one = new Pack();
      const tree = one.tree(target.root);
      let tip = target.head;
      for (let i = 0; i < count; i++) tip = one.add('commit', commitOf(tree, [tip], more(i)));
      return { pack: one.bytes(), tip };
    },
    place,
  };
}

const TOO_LONG = /commit \w{40} has \d+ bytes; with its message it may have at most 262144/;
const TOO_LONG_TOGETHER = /commits and tags of this push have more than 64 MiB with their messages/;

/** Kilobytes in a pack, each below the limits of what is read. */
const MESSAGES: readonly Bomb[] = [
  line('with messages of 1 MB', 100, (i) => ({ message: `${i} ${'m'.repeat(MB)}` }), TOO_LONG),
  line(
    'with names of 1 MB',
    20,
    (i) => ({ author: `author ${i} ${'m'.repeat(MB)} <m@example.com> 1700000000 +0000\n` }),
    TOO_LONG,
  ),
  line(
    'with signatures of 1 MB',
    20,
    (i) => ({ headers: `gpgsig ${i} ${'\n '.padEnd(1000, 's').repeat(1000)}\n` }),
    TOO_LONG,
  ),
  line(
    'with messages of 250 KB',
    300,
    (i) => ({ message: `${i} ${'m'.repeat(MB / 4)}` }),
    TOO_LONG_TOGETHER,
  ),
  {
    name: '300 branches at commits with messages of 250 KB',
    make: (target) => {
      const one = new Pack();
      const tree = one.tree(target.root);
      const refs = Array.from({ length: 300 }, (_, i) => {
        const message = `${i} ${'m'.repeat(MB / 4)}`;
        const to = one.add('commit', commitOf(tree, [target.head], { message }));
        return { ref: `refs/heads/long-${i}`, to };
      });
      return { pack: one.bytes(), tip: target.head, refs };
    },
    place: TOO_LONG_TOGETHER,
    isElsewhere: true,
  },
  {
    name: 'a tag with a message of 100 KB',
    make: (target) => {
      const one = new Pack();
      const tag = Buffer.concat([
        tagOf(target.head, 'commit', 'long'),
        Buffer.alloc(MB / 10, 'm\n'),
      ]);
      const to = one.add('tag', tag);
      return { pack: one.bytes(), tip: target.head, refs: [{ ref: 'refs/tags/long', to }] };
    },
    place: /tag \w{40} has \d+ bytes; with its message it may have at most 65536/,
    isElsewhere: true,
  },
];

/** Teams in one file, all with this text. */
function teams(count: number, text: string): string {
  const head = 'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: bomb-';
  const one = (_: unknown, i: number): string => `${head}${i}\nspec:\n  displayName: ${text}\n`;
  return Array.from({ length: count }, one).join('---\n');
}

/** Two versions of a file, as trees of a whole commit. */
function versions(target: Target, one: Pack): [string, string] {
  const treeWith = (text: string): string => {
    const file = { mode: FILE, name: 'bomb.yaml', id: one.blob(teams(3000, text)) };
    return one.tree([...target.root, file]);
  };
  return [treeWith('One'), treeWith('Two')];
}

const TOO_MANY = /change manifests more than 250000 times together/;

/** Commits of some 150 bytes, each of which changes thousands of objects. */
const CHANGES: readonly Bomb[] = [
  {
    name: '200 commits of 3,000 changed objects',
    make: (target) => {
      const one = new Pack();
      const trees = versions(target, one);
      let tip = target.head;
      for (let i = 0; i < 200; i += 1) {
        tip = one.add('commit', commitOf(trees[i % 2] ?? '', [tip], { message: `${i}` }));
      }
      return { pack: one.bytes(), tip };
    },
    place: TOO_MANY,
    isSound: true,
  },
  {
    name: '200 crosswise merges of 3,000 objects',
    make: (target) => {
      const one = new Pack();
      const trees = versions(target, one);
      let tips = trees.map((tree) => one.add('commit', commitOf(tree, [target.head])));
      for (let i = 0; i < 100; i += 1) {
        const [left = '', right = ''] = tips;
        const parents = [
          [left, right],
          [right, left],
        ];
        tips = trees.map((tree, at) =>
          one.add('commit', commitOf(tree, parents[at] ?? [], { message: `${i}` })),
        );
      }
      const [tree] = trees;
      const tip = one.add('commit', commitOf(tree, tips));
      return { pack: one.bytes(), tip };
    },
    place: TOO_MANY,
    isSound: true,
  },
];

export const PACK_BOMBS = [...PACKS, ...DELTAS, ...ZIP_BOMBS, ...COMMITS, ...MESSAGES, ...CHANGES];
