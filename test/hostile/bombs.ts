/**
 * Hostile repositories, each a push on top of a sound branch: trees, names and refs. Each says where
 * the refusal has to point, or that it does no harm.
 */
import {
  commitOf,
  FILE,
  FOLDER,
  GITLINK,
  NO_ID,
  Pack,
  rawTree,
  type TreeEntry,
  tagOf,
} from './objects.ts';

/** The branch that is attacked. */
export interface Target {
  readonly head: string;
  /** Entries of its root. */
  readonly root: readonly TreeEntry[];
}

export interface HostilePush {
  readonly pack: Buffer;
  readonly tip: string;
  /** Moves of refs; the branch to `tip` when absent. */
  readonly refs?: readonly { readonly ref: string; readonly from?: string; readonly to: string }[];
}

export interface Bomb {
  readonly name: string;
  make(target: Target): HostilePush;
  /** Of the refusal; absent: taken or refused, it harms nobody. */
  readonly place?: RegExp;
  /** No repository could hold it, so that it can be pushed and not followed. */
  readonly isBroken?: boolean;
  /** On another ref than the branch. */
  readonly isElsewhere?: boolean;
  /** Sound to a repository that is followed: taking it out removes so many objects that it needs approval. */
  readonly isSound?: boolean;
  /** Takes the processor time that a small push over HTTP is limited to, and more by other roads. */
  readonly isLong?: boolean;
}

export const BRANCH = 'refs/heads/main';

/** One folder more in the root of the branch, in one commit. */
export function withFolder(
  target: Target,
  pack: Pack,
  entry: { readonly name: string | Buffer; readonly id: string; readonly mode?: string },
): HostilePush {
  const { mode = FOLDER, ...rest } = entry;
  const others = target.root.filter(({ name }) => name !== entry.name);
  const tree = pack.tree([...others, { mode, ...rest }]);
  const tip = pack.add('commit', commitOf(tree, [target.head]));
  return { pack: pack.bytes(), tip };
}

/** A tree whose entries are all the same tree, some levels deep. */
export function sameTrees(pack: Pack, width: number, depth: number): string {
  let id = pack.tree([{ mode: FILE, name: 'a.yaml', id: pack.blob('a: 1\n') }]);
  const names = Array.from({ length: width }, (_, i) => `d${i}`);
  for (let level = 0; level < depth; level++) {
    id = pack.tree(names.map((name) => ({ mode: FOLDER, name, id })));
  }
  return id;
}

function wide(width: number, depth: number, folder = 'bomb'): Bomb {
  return {
    name: `${width} times the same tree, ${depth} deep, in ${folder}`,
    make: (target) => {
      const pack = new Pack();
      return withFolder(target, pack, { name: folder, id: sameTrees(pack, width, depth) });
    },
    place: new RegExp(folder),
  };
}

function deep(depth: number, name = 'd'): Bomb {
  return {
    name: `folders ${depth} deep, of ${name.length} bytes each`,
    make: (target) => {
      const pack = new Pack();
      let id = pack.tree([{ mode: FILE, name: 'a.yaml', id: pack.blob('a: 1\n') }]);
      for (let level = 1; level < depth; level++) id = pack.tree([{ mode: FOLDER, name, id }]);
      return withFolder(target, pack, { name: 'deep', id });
    },
    place: /deep/,
  };
}

function named(title: string, name: string | Buffer, place?: RegExp): Bomb {
  return {
    name: `a file whose name ${title}`,
    make: (target) => {
      const pack = new Pack();
      const id = pack.tree([{ mode: FILE, name, id: pack.blob('a: 1\n') }]);
      return withFolder(target, pack, { name: 'names', id });
    },
    ...(place && { place }),
  };
}

function entries(
  title: string,
  make: (blob: string, tree: string) => TreeEntry[],
  place: RegExp,
): Bomb {
  return {
    name: `a tree with ${title}`,
    make: (target) => {
      const pack = new Pack();
      const blob = pack.blob('a: 1\n');
      const tree = pack.tree([{ mode: FILE, name: 'a.yaml', id: blob }]);
      const id = pack.add('tree', rawTree(make(blob, tree)));
      return withFolder(target, pack, { name: 'entries', id });
    },
    place,
  };
}

/** By fsck of git, which names the object. */
const FSCK = /fsck error|object [0-9a-f]{40}|names|entries/;

const TREES: readonly Bomb[] = [
  wide(10, 8),
  wide(10, 14),
  wide(2, 40),
  wide(1000, 3),
  wide(30, 4, 'teams2'),
  deep(100),
  deep(10_000),
  deep(60, 'n'.repeat(200)),
  {
    name: 'a tree of 600,000 entries',
    make: (target) => {
      const pack = new Pack();
      const id = pack.blob('a: 1\n');
      const list = Array.from({ length: 600_000 }, (_, i) => ({
        mode: FILE,
        name: String(i).padStart(7, '0'),
        id,
      }));
      return withFolder(target, pack, { name: 'flat', id: pack.add('tree', rawTree(list)) });
    },
    place: /flat/,
  },
  {
    name: 'a bomb in a commit that the next one removes',
    make: (target) => {
      const pack = new Pack();
      const first = withFolder(target, pack, { name: 'bomb', id: sameTrees(pack, 10, 9) });
      const tree = pack.tree(target.root);
      const tip = pack.add('commit', commitOf(tree, [first.tip]));
      return { pack: pack.bytes(), tip };
    },
    place: /bomb/,
  },
  {
    name: 'a bomb on the second line of a merge',
    make: (target) => {
      const pack = new Pack();
      const side = withFolder(target, pack, { name: 'bomb', id: sameTrees(pack, 10, 9) });
      const tip = pack.add('commit', commitOf(pack.tree(target.root), [target.head, side.tip]));
      return { pack: pack.bytes(), tip };
    },
    place: /bomb/,
  },
  {
    name: 'a bomb on another branch',
    isElsewhere: true,
    make: (target) => {
      const pack = new Pack();
      const { tip } = withFolder(target, pack, { name: 'bomb', id: sameTrees(pack, 10, 9) });
      return { pack: pack.bytes(), tip, refs: [{ ref: 'refs/heads/other', to: tip }] };
    },
    place: /bomb|other/,
  },
  {
    name: 'a tag of a bomb',
    isElsewhere: true,
    make: (_target) => {
      const pack = new Pack();
      const tag = pack.add('tag', tagOf(sameTrees(pack, 10, 9), 'tree'));
      return { pack: pack.bytes(), tip: tag, refs: [{ ref: 'refs/tags/bomb', to: tag }] };
    },
    place: /bomb|tag|[0-9a-f]{40}/,
  },
  {
    name: 'a chain of 5,000 tags',
    isElsewhere: true,
    make: (target) => {
      const pack = new Pack();
      let id = pack.add('tag', tagOf(target.head, 'commit'));
      for (let i = 0; i < 5000; i++) id = pack.add('tag', tagOf(id, 'tag', `t${i}`));
      return { pack: pack.bytes(), tip: id, refs: [{ ref: 'refs/tags/chain', to: id }] };
    },
  },
];

const NAMES: readonly Bomb[] = [
  named('has 256 bytes', `${'n'.repeat(251)}.yaml`, /names/),
  named('has 10,000 bytes', 'n'.repeat(10_000), /names|large/),
  named('has a newline', 'a\nb.yaml', /names/),
  named('has a control character', 'a\x1b[31mb.yaml', /names/),
  named('has a backslash', 'a\\b.yaml', /names|[Bb]ackslash/),
  named('ends with a dot', 'a.', /names/),
  named('ends with a blank', 'a ', /names/),
  named('is a device of Windows', 'nul.yaml', /names/),
  named('is .git', '.git', FSCK),
  named('leads out', '..', FSCK),
  named('is .git for HFS+', '.g\u200cit', FSCK),
  named('is .git for NTFS', 'git~1', FSCK),
  named('is no UTF-8', Buffer.from([0x61, 0xff, 0xfe])),
];

const ENTRIES: readonly Bomb[] = [
  entries(
    'an entry twice',
    (blob) => [
      { mode: FILE, name: 'a', id: blob },
      { mode: FILE, name: 'a', id: blob },
    ],
    FSCK,
  ),
  entries(
    'entries out of order',
    (blob) => [
      { mode: FILE, name: 'b', id: blob },
      { mode: FILE, name: 'a', id: blob },
    ],
    FSCK,
  ),
  entries('a mode of zero', (blob) => [{ mode: '0', name: 'a', id: blob }], FSCK),
  entries('a zero before a mode', (blob) => [{ mode: '0100644', name: 'a', id: blob }], FSCK),
  entries('an id of zeros', () => [{ mode: FILE, name: 'a', id: NO_ID }], FSCK),
  entries(
    'a blob as a folder',
    (blob) => [{ mode: FOLDER, name: 'a', id: blob }],
    /[0-9a-f]{40}|entries/,
  ),
  entries(
    'a tree as a file',
    (_blob, tree) => [{ mode: FILE, name: 'a', id: tree }],
    /[0-9a-f]{40}|entries/,
  ),
  entries('a submodule', () => [{ mode: GITLINK, name: 'a', id: '1'.repeat(40) }], /entries/),
];

function ref(name: string, place: RegExp): Bomb {
  return {
    name: `a ref ${name.length > 60 ? `of ${name.length} bytes` : name}`,
    make: (target) => ({
      pack: new Pack().bytes(),
      tip: target.head,
      refs: [{ ref: name, to: target.head }],
    }),
    place,
    isBroken: true,
  };
}

const REFS: readonly Bomb[] = [
  ref(`refs/replace/${'1'.repeat(40)}`, /replace/),
  ref('refs/heads/-x', /-x/),
  ref('refs/gitplane/kept/x', /gitplane|hidden/),
  ref('refs/heads/a..b', /a\.\.b|name/),
  ref(`refs/heads/${'r'.repeat(5000)}`, /rrr|name|lock/),
  ref('HEAD', /HEAD/),
  {
    name: '5,000 refs in one push',
    make: (target) => ({
      pack: new Pack().bytes(),
      tip: target.head,
      refs: Array.from({ length: 5000 }, (_, i) => ({ ref: `refs/tags/t${i}`, to: target.head })),
    }),
    place: /refs/,
    isBroken: true,
  },
];

export const TREE_BOMBS = [...TREES, ...NAMES, ...ENTRIES, ...REFS];
