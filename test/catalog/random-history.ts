/**
 * Random histories as real repositories: commits, forks and merges of small trees whose files
 * hold every sort of document there is. Written by `git fast-import`, so that a history costs one
 * process.
 */
import fc from 'fast-check';
import { git } from '../support/git.ts';

/** One document of a file; `variant` changes its desired state, `label` does not. */
type Document =
  | { readonly is: 'team'; readonly name: string; readonly variant: number; readonly label: number }
  | { readonly is: 'secret'; readonly name: string; readonly namespace: string | undefined }
  | { readonly is: 'user'; readonly name: string }
  | { readonly is: 'key'; readonly name: string; readonly user: string; readonly variant: number }
  | { readonly is: 'invalid'; readonly name: string }
  | { readonly is: 'nameless' | 'unparsable' | 'foreign' | 'comment' };

/** `links`: the path is a symbolic link. */
type Content = { readonly documents: readonly Document[] } | { readonly link: string };

interface FileEdit {
  readonly path: string;
  /** Undefined: the path is removed. */
  readonly content: Content | undefined;
}

export type Step =
  | { readonly do: 'commit'; readonly head: number; readonly edits: readonly FileEdit[] }
  | { readonly do: 'ignore'; readonly head: number; readonly patterns: string | undefined }
  | { readonly do: 'move'; readonly head: number; readonly file: number; readonly to: string }
  | { readonly do: 'split'; readonly head: number; readonly file: number; readonly to: string }
  | { readonly do: 'fork'; readonly head: number }
  | { readonly do: 'root' }
  | { readonly do: 'merge'; readonly heads: readonly number[]; readonly takes: readonly number[] };

const names = ['a', 'b', 'c'];
const paths = ['a.yaml', 'b.yaml', 'x/c.yaml', 'namespaces/n1/d.yaml', 'namespaces/n2/e.yml'];
const ignorePatterns = [undefined, '', 'x/\n', 'b.yaml\n', '*.yml\n!x\n', '*\n'];

const name = fc.constantFrom(...names);
const path = fc.constantFrom(...paths);

const document: fc.Arbitrary<Document> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      is: fc.constant('team' as const),
      name,
      variant: fc.nat(2),
      label: fc.nat(1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constant('secret' as const),
      name,
      namespace: fc.constantFrom(undefined, 'n1', 'n2'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ is: fc.constant('user' as const), name }) },
  {
    weight: 4,
    arbitrary: fc.record({
      is: fc.constant('key' as const),
      name,
      user: name,
      variant: fc.nat(1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ is: fc.constant('invalid' as const), name }) },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constantFrom('nameless', 'unparsable', 'foreign', 'comment'),
    }),
  },
);

const content: fc.Arbitrary<Content> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ documents: fc.array(document, { maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ link: path }) },
);

const edit: fc.Arbitrary<FileEdit> = fc.record({
  path,
  content: fc.option(content, { freq: 4, nil: undefined }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      head: fc.nat(),
      edits: fc.array(edit, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('ignore' as const),
      head: fc.nat(),
      patterns: fc.constantFrom(...ignorePatterns),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('move' as const, 'split' as const),
      head: fc.nat(),
      file: fc.nat(),
      to: path,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fork' as const), head: fc.nat() }) },
  { weight: 1, arbitrary: fc.constant({ do: 'root' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('merge' as const),
      heads: fc.array(fc.nat(), { minLength: 2, maxLength: 3 }),
      takes: fc.array(fc.nat(), { minLength: 4, maxLength: 4 }),
    }),
  },
);

/** New contents of paths in a commit: text, or null to remove one. */
export const randomFiles: fc.Arbitrary<Record<string, string | null>> = fc
  .array(edit, { minLength: 1, maxLength: 3 })
  .map((edits) =>
    Object.fromEntries(
      edits.map(({ path, content }) => [path, content === undefined ? null : fileText(content)]),
    ),
  );

export const randomSteps: fc.Arbitrary<readonly Step[]> = fc.array(step, {
  minLength: 3,
  maxLength: 14,
  size: 'max',
});

function textOf(one: Document): string {
  const group = 'apiVersion: management.gitplane.dev/v1\n';
  switch (one.is) {
    case 'team': {
      const labels = one.label === 0 ? '' : `  labels: {l: "${one.label}"}\n`;
      return `${group}kind: Team\nmetadata:\n  name: ${one.name}\n${labels}spec:\n  displayName: v${one.variant}\n`;
    }
    case 'user':
      return `${group}kind: User\nmetadata:\n  name: ${one.name}\nspec: {}\n`;
    case 'key': {
      const key = `sha256:${`${one.name}${one.variant}`.repeat(32)}`;
      return `${group}kind: OwnedAccessKey\nmetadata:\n  name: ${one.name}\nspec:\n  user: ${one.user}\n  key: ${key}\n`;
    }
    case 'secret': {
      const namespace = one.namespace === undefined ? '' : `  namespace: ${one.namespace}\n`;
      return `${group}kind: SharedSecret\nmetadata:\n  name: ${one.name}\n${namespace}spec: {}\n`;
    }
    case 'invalid':
      return `${group}kind: Team\nmetadata:\n  name: ${one.name}\nspec:\n  displayName: [1]\n`;
    case 'nameless':
      return `${group}kind: Team\n`;
    case 'unparsable':
      return 'a: [b\nc: }\n';
    case 'foreign':
      return 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n';
    case 'comment':
      return '# nothing here\n';
  }
}

/** Path → text of the file, or the target of a link behind a NUL. */
type Files = ReadonlyMap<string, string>;

function fileText(of: Content): string {
  return 'link' in of ? `\0${of.link}` : of.documents.map(textOf).join('---\n');
}

export interface Commit {
  /** From 1, in order. */
  readonly mark: number;
  readonly parents: readonly number[];
  readonly files: Files;
}

/** The commits that the steps make; the last one is made to reach all heads. */
function commitsOf(steps: readonly Step[]): Commit[] {
  const commits: Commit[] = [{ mark: 1, parents: [], files: new Map() }];
  const heads: Commit[] = [...commits];
  const headAt = (index: number): Commit => heads[index % heads.length] as Commit;
  const add = (parents: readonly Commit[], files: Files, replaced: number | undefined): void => {
    const mark = commits.length + 1;
    const commit = { mark, parents: parents.map((parent) => parent.mark), files };
    commits.push(commit);
    if (replaced === undefined) heads.push(commit);
    else heads[replaced % heads.length] = commit;
  };
  for (const one of steps) {
    switch (one.do) {
      case 'fork':
        if (heads.length < 4) heads.push(headAt(one.head));
        break;
      case 'root':
        if (heads.length < 4) add([], new Map(), undefined);
        break;
      case 'merge': {
        // A merge may name a parent twice.
        const parents = one.heads.map(headAt);
        const isMerge = new Set(parents).size > 1;
        if (isMerge) add(parents, mergedFiles(parents, one.takes), one.heads[0] ?? 0);
        break;
      }
      default:
        add([headAt(one.head)], changedFiles(headAt(one.head).files, one), one.head);
    }
  }
  const [first, ...others] = [...new Set(heads)].reverse();
  if (first !== undefined && others.length > 0) {
    add([first, ...others], mergedFiles([first, ...others], [0, 1, 2, 3]), undefined);
  }
  return commits;
}

type Change = Extract<Step, { readonly head: number }>;

function changedFiles(before: Files, change: Change): Files {
  const files = new Map(before);
  const set = (path: string, text: string | undefined): void => {
    if (text === undefined) files.delete(path);
    else files.set(path, text);
  };
  if (change.do === 'commit') {
    for (const { path, content } of change.edits) set(path, content && fileText(content));
  } else if (change.do === 'ignore') {
    set('.gitplaneignore', change.patterns);
  } else if (change.do !== 'fork' && files.size > 0) {
    const [path = '', text = ''] = [...files][change.file % files.size] ?? [];
    const [kept, moved] = change.do === 'move' ? [undefined, text] : splitText(text);
    set(path, kept);
    set(change.to, moved);
  }
  return files;
}

/** The first document stays, the others go. */
function splitText(text: string): [string, string] {
  const [first = '', ...rest] = text.split('---\n');
  return [first, rest.join('---\n')];
}

/** Each path as one of the parents has it, or gone; whatever people make of a conflict. */
function mergedFiles(parents: readonly Commit[], takes: readonly number[]): Files {
  const files = new Map<string, string>();
  const all = new Set(parents.flatMap((parent) => [...parent.files.keys()]));
  let next = 0;
  for (const path of [...all].sort()) {
    const take = takes[next++ % takes.length] ?? 0;
    const parent = parents[take % parents.length];
    const text = parent?.files.get(path);
    if (text !== undefined) files.set(path, text);
  }
  return files;
}

/** Committer times go back and forth and repeat: clocks do. */
const times = [1000, 400, 400, 2000, 3000, 100];

function fastImport(commits: readonly Commit[]): string {
  const lines: string[] = [];
  const data = (text: string): void => {
    lines.push(`data ${Buffer.byteLength(text)}`, text);
  };
  for (const { mark, parents, files } of commits) {
    const time = 1_700_000_000 + (times[mark % times.length] ?? 0) + mark;
    // A ref of its own for each commit: without `from` fast-import goes on with what is there.
    lines.push(`commit refs/heads/c${mark}`, `mark :${mark}`);
    lines.push(`committer Grace <grace@example.com> ${time} +0000`);
    data(`commit ${mark}`);
    const [first, ...others] = parents;
    if (first !== undefined) lines.push(`from :${first}`);
    for (const parent of others) lines.push(`merge :${parent}`);
    lines.push('deleteall');
    for (const [path, text] of files) {
      const link = text.startsWith('\0');
      lines.push(`M ${link ? '120000' : '100644'} inline ${path}`);
      data(link ? text.slice(1) : text);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Writes the commits into a bare repository and returns their ids. */
export function writeCommits(gitDir: string, commits: readonly Commit[]): string[] {
  git(gitDir, ['fast-import', '--quiet', '--force'], { input: fastImport(commits) });
  const refs = commits.map(({ mark }) => `refs/heads/c${mark}`);
  return git(gitDir, ['rev-parse', ...refs]).split('\n');
}

/** A history in a repository, by ids. */
export interface WrittenHistory {
  /** From the root to the commit that reaches everything, each the first parent of the next. */
  readonly line: readonly string[];
  readonly all: readonly string[];
}

export function writeHistory(gitDir: string, steps: readonly Step[]): WrittenHistory {
  const commits = commitsOf(steps);
  const all = writeCommits(gitDir, commits);
  const line: string[] = [];
  for (let at = commits.at(-1); at !== undefined; ) {
    line.unshift(all[at.mark - 1] ?? '');
    const parent: number | undefined = at.parents[0];
    at = commits.find(({ mark }) => mark === parent);
  }
  return { line, all };
}
