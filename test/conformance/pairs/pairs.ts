/** Sends the requests of episodes to two servers side by side and keeps the answers that differ. */
import { parse } from 'yaml';
import { randomFrom } from '../../support/random.ts';
import { type Answered, type Asked, type Client, clientOf, type Target } from '../api/target.ts';
import { bodyOf, Namer, type Verdict, verdictOf } from '../api/verdict.ts';
import { eachObject, type Pair } from './class.ts';
import { drawEpisode, type Episode } from './episode.ts';
import { drawOthers } from './others.ts';

export interface Campaign {
  readonly count: number;
  readonly theirs: Target;
  readonly ours: Target;
  readonly seed: number;
  /** Called with pairs that differ; true: the episode can go on, since both servers still hold the same. */
  differs(pair: Pair): boolean;
}

/** Resolves with the number of pairs that were sent. */
export async function sendPairs(campaign: Campaign): Promise<number> {
  const { seed, count } = campaign;
  const sides: Sides = { theirs: clientOf(campaign.theirs), ours: clientOf(campaign.ours) };
  try {
    for (let left = count, number = 1; left > 0; number++) {
      // Of a seed of its own: what a server answers moves no other episode.
      const random = randomFrom(seed * 1_000_003 + number);
      const episode = random.chance(0.2) ? drawOthers(random) : drawEpisode(random, number);
      left -= await play(episode, { ...campaign, count: left }, sides);
    }
  } finally {
    sides.theirs.close();
    sides.ours.close();
  }
  return count;
}

interface Sides {
  readonly theirs: Client;
  readonly ours: Client;
}

async function play(episode: Episode, campaign: Campaign, sides: Sides): Promise<number> {
  await makeNamespace(episode.namespace, sides.theirs);
  const theirs = new Side(sides.theirs, campaign.theirs.token);
  const ours = new Side(sides.ours, campaign.ours.token);
  let sent = 0;
  for (const asked of episode.requests) {
    if (sent === campaign.count) break;
    const [their, our] = await Promise.all([theirs.ask(asked), ours.ask(asked)]);
    sent++;
    const isSame = JSON.stringify(their) === JSON.stringify(our);
    if (!isSame && !campaign.differs({ asked, theirs: their, ours: our })) break;
    if (isHeldByPolicy(their)) break;
  }
  return sent;
}

/** A controller finishes the deletion, which the API server of Kubernetes alone does not have. */
function isHeldByPolicy({ body }: Verdict): boolean {
  return /"finalizers":[^\]]*"(foregroundDeletion|orphan)"/.test(JSON.stringify(body ?? ''));
}

/** Gitplane has every namespace that something is in. */
async function makeNamespace(name: string, client: Client): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  const { code, text } = await client.call({ method: 'POST', path: '/api/v1/namespaces', body });
  if (code !== 201 && code !== 409) throw new Error(`Namespace ${name}: ${code} ${text}`);
}

/** One server, and what its answers said about its objects. */
class Side {
  readonly #client: Client;
  readonly #facts = new Map<string, string>();

  constructor(client: Client, token: string) {
    this.#client = client;
    this.#facts.set('token', token);
  }

  async ask(asked: Asked): Promise<Verdict> {
    const { path, body, ...rest } = asked;
    const filled = {
      ...rest,
      path: this.#fill(path),
      ...(body === undefined ? {} : { body: this.#body(body) }),
    };
    const answer = await this.#client.call(filled).catch(noAnswer);
    this.#learn(answer);
    return this.#verdict(asked, answer);
  }

  #verdict({ path }: Asked, { text, ...rest }: Answered): Verdict {
    const answer = { ...rest, text: text.replaceAll(this.#facts.get('token') ?? '', '<token>') };
    const namer = new Namer();
    const type = String(answer.headers['content-type'] ?? '');
    if (type.includes('yaml')) {
      const { code, headers = {} } = verdictOf({ ...answer, text: '' }, namer);
      return { code, headers, body: bodyOf(JSON.stringify(parse(text)), namer) };
    }
    const stream = path.includes('watch=true') && answer.code === 200;
    const verdict = stream ? streamVerdict(answer, namer) : verdictOf(answer, namer);
    eachObject(verdict.body, ({ managedFields }) => {
      // An entry has it or not by the second in which it was last written.
      for (const entry of Array.isArray(managedFields) ? managedFields : []) delete entry.time;
    });
    return verdict;
  }

  #body(body: unknown): unknown {
    if (Buffer.isBuffer(body)) return body;
    return this.#fill(typeof body === 'string' ? body : JSON.stringify(body));
  }

  #fill(text: string): string {
    return text.replace(
      /\{(uid|version|name|listed|continue|token)(:[\w-]+)?\}/g,
      (_all, what, of) => {
        const known = this.#facts.get(`${what}${of ?? ''}`);
        return known ?? (what === 'uid' ? '00000000-0000-4000-8000-000000000001' : '1');
      },
    );
  }

  #learn({ text, code }: Answered): void {
    if (code >= 300 || !text.startsWith('{')) return;
    const { metadata = {} } = parsed(text);
    const { name, uid, resourceVersion } = metadata;
    if (typeof name === 'string' && typeof uid === 'string') {
      for (const of of ['', `:${name}`]) {
        this.#facts.set(`uid${of}`, uid).set(`version${of}`, String(resourceVersion));
      }
      this.#facts.set('name', name);
    } else if (typeof resourceVersion === 'string') {
      this.#facts.set('listed', resourceVersion);
      if (metadata.continue) this.#facts.set('continue', metadata.continue);
    }
  }
}

/** A connection that the server ended. */
function noAnswer(cause: Error): Answered {
  return { code: 0, headers: {}, text: cause.message };
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
function parsed(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Of a stream each line is a document. */
function streamVerdict(answer: Answered, namer: Namer): Verdict {
  const lines = answer.text.split('\n').filter((line) => line !== '');
  const { headers, code } = verdictOf({ ...answer, text: '' }, namer);
  const body = lines.map((line) => verdictOf({ ...answer, text: line }, namer).body);
  return { code, ...(headers === undefined ? {} : { headers }), body };
}
