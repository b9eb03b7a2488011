/** Commits made in memory and pushed over smart HTTP in one request, as fast as a daemon takes them. */
import { createHash } from 'node:crypto';
import { buildPack, type PackObject } from '../../src/git/packs/pack-writer.ts';
import type { HttpClient, Reply } from './http-client.ts';

type Files = ReadonlyMap<string, string>;

export interface Push {
  readonly token: string;
  /** A commit of the branch; its tip, unless the push is `open`. */
  readonly parent: string;
  /** The push does not name the tip, as of clients that are not shown the branch. */
  readonly open?: boolean;
  /** See `Sent`. */
  readonly meanwhile?: (() => Promise<unknown>) | undefined;
  /** `path → blob` of that commit. */
  readonly files: Files;
  /** `path → content` for each commit of the push; null removes the path. */
  readonly commits: readonly Readonly<Record<string, string | null>>[];
}

/** Sends a push of `main`. The answer is that of `git receive-pack`, with what the hook said. */
export async function push(client: HttpClient, of: Push): Promise<Reply> {
  return await client.call('POST', '/git/platform.git/git-receive-pack', {
    token: of.token,
    basic: true,
    type: 'application/x-git-receive-pack-request',
    body: pushBody(of),
    ...(of.meanwhile && { meanwhile: of.meanwhile }),
  });
}

/** Body of a push: its command, and a pack of its commits. */
function pushBody(of: Omit<Push, 'token'>): Buffer {
  const objects = new Map<string, PackObject>();
  const files = new Map(of.files);
  let parent = of.parent;
  for (const changes of of.commits) {
    for (const [path, content] of Object.entries(changes)) {
      if (content === null) files.delete(path);
      else files.set(path, add(objects, 'blob', Buffer.from(content)));
    }
    const tree = addTree(objects, files, '');
    const seconds = Math.floor(Date.now() / 1000);
    const person = `Pusher <pusher@example.com> ${seconds} +0000`;
    const text = `tree ${tree}\nparent ${parent}\nauthor ${person}\ncommitter ${person}\n\nChange\n`;
    parent = add(objects, 'commit', Buffer.from(text));
  }
  const { pack } = buildPack([...objects.values()]);
  const command = `${of.open ? NO_ID : of.parent} ${parent} refs/heads/main\0 report-status side-band-64k`;
  return Buffer.concat([Buffer.from(`${packet(command)}0000`), pack]);
}

/** True if the branch moved to what was pushed. */
export function wasAccepted({ code, text }: Reply): boolean {
  return code === 200 && text.includes('ok refs/heads/main');
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

function addTree(objects: Map<string, PackObject>, files: Files, prefix: string): string {
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
