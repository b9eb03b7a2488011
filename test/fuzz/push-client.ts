/** Commits made in memory and pushed over smart HTTP in one request, as fast as a daemon takes them. */
import { createHash } from 'node:crypto';
import { buildPack, type PackObject } from '../../src/git/packs/pack-writer.ts';
import type { HttpClient, Reply } from './http-client.ts';

export const BRANCH = 'refs/heads/main';

/** A commit, and `path → blob` of it. */
export interface Moment {
  readonly head: string;
  readonly files: ReadonlyMap<string, string>;
}

export interface Push {
  readonly token: string;
  /** The branch, unless another ref is named. */
  readonly ref?: string;
  /** A commit of the branch; its tip, unless the push is `open`. */
  readonly base: Moment;
  /** The push does not name the tip, as of clients that are not shown the branch. */
  readonly open?: boolean;
  /** See `Sent`. */
  readonly from?: string | undefined;
  readonly meanwhile?: (() => Promise<unknown>) | undefined;
  /** Parents of the last commit, of which `own` is the one that the push has by itself. */
  readonly parents?: (own: string) => readonly string[];
  /** `path → content` for each commit of the push; null removes the path. */
  readonly commits: readonly Readonly<Record<string, string | null>>[];
}

/** Sends a push. The answer is that of `git receive-pack`, with what the hook said. */
export async function push(client: HttpClient, of: Push): Promise<Reply & { tip: Moment }> {
  const { ref = BRANCH } = of;
  const { pack, tip } = packed(of);
  const command = `${of.open ? NO_ID : of.base.head} ${tip.head} ${ref}\0 report-status side-band-64k`;
  const body = Buffer.concat([Buffer.from(`${packet(command)}0000`), pack]);
  const { code, text } = await client.call('POST', '/git/platform.git/git-receive-pack', {
    token: of.token,
    basic: true,
    type: 'application/x-git-receive-pack-request',
    body,
    ...(of.from && { from: of.from }),
    ...(of.meanwhile && { meanwhile: of.meanwhile }),
  });
  const isAccepted = code === 200 && text.includes(`ok ${ref}`);
  return { code: isAccepted ? 200 : Math.max(code, 400), text, tip };
}

/** The commits of a push, with what is new in them. */
export function packed(of: Pick<Push, 'base' | 'commits' | 'parents'>): {
  pack: Buffer;
  tip: Moment;
} {
  const objects = new Map<string, PackObject>();
  const files = new Map(of.base.files);
  const { parents = (own) => [own] } = of;
  let head = of.base.head;
  for (const [index, changes] of of.commits.entries()) {
    for (const [path, content] of Object.entries(changes)) {
      if (content === null) files.delete(path);
      else files.set(path, add(objects, 'blob', Buffer.from(content)));
    }
    const tree = addTree(objects, files, '');
    // Each commit has a second of its own, so that a time names the inner ones too.
    const left = of.commits.length - 1 - index;
    const person = `Pusher <pusher@example.com> ${Math.floor(Date.now() / 1000) - left} +0000`;
    const isLast = left === 0;
    const above = (isLast ? parents(head) : [head]).map((id) => `parent ${id}\n`).join('');
    const text = `tree ${tree}\n${above}author ${person}\ncommitter ${person}\n\nChange\n`;
    head = add(objects, 'commit', Buffer.from(text));
  }
  const { pack } = buildPack([...objects.values()]);
  return { pack, tip: { head, files } };
}

const NO_ID = '0'.repeat(40);

function packet(line: string): string {
  return (Buffer.byteLength(line) + 4).toString(16).padStart(4, '0') + line;
}

function add(objects: Map<string, PackObject>, type: PackObject['type'], data: Buffer): string {
  const id = createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex');
  objects.set(id, { id, type, data, base: undefined });
  return id;
}

function addTree(objects: Map<string, PackObject>, files: Moment['files'], prefix: string): string {
  const entries = new Map<string, { mode: string; id: string; sort: string }>();
  for (const [path, id] of files) {
    if (!path.startsWith(prefix)) continue;
    const [name = '', ...rest] = path.slice(prefix.length).split('/');
    if (rest.length === 0) entries.set(name, { mode: '100644', id, sort: name });
    else if (!entries.has(name)) {
      const tree = addTree(objects, files, `${prefix}${name}/`);
      entries.set(name, { mode: '40000', id: tree, sort: `${name}/` });
    }
  }
  const sorted = [...entries].sort(([, a], [, b]) =>
    Buffer.compare(Buffer.from(a.sort), Buffer.from(b.sort)),
  );
  const parts = sorted.flatMap(([name, { mode, id }]) => [
    Buffer.from(`${mode} ${name}\0`),
    Buffer.from(id, 'hex'),
  ]);
  return add(objects, 'tree', Buffer.concat(parts));
}
