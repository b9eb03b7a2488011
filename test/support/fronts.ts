/** Fronts of replicas in this process, on a state in memory, and leaders that are played. */
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { administratorToken } from '../../src/bootstrap/administrator.ts';
import {
  openLeaderProxy,
  type ReplicaProxy,
} from '../../src/daemon/replicated/open-leader-proxy.ts';
import type { LeaderPeer, Leaders } from '../../src/server/leader-proxy/leaders.ts';
import { handlePeer } from '../../src/server/leader-proxy/peer.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { temporaryFolder } from './git.ts';
import { kinds, openTestPlatform, stateCodec, type TestPlatform } from './platform.ts';
import { RecordedEngine, RecordedFeed, RecordedHistory } from './recorded-engine.ts';

export const TEAMS = '/kubernetes/management/apis/management.gitplane.dev/v1/teams';

export type Play = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** A replica that leads: what it answers is the test's to say. */
export class PlayedLeader {
  readonly server: Server;
  readonly uses: string[] = [];
  held = true;
  version = 0;

  constructor(play: Play) {
    this.server = createServer((req, res) => {
      const peer = {
        isHeld: () => this.held,
        version: () => this.version,
        noteUses: async (uses: ReadonlyMap<string, number>) => void this.uses.push(...uses.keys()),
      };
      if (handlePeer(peer, req, res)) return;
      Promise.resolve(play(req, res)).catch((error: unknown) => res.destroy(error as Error));
    });
  }

  async peer(term: bigint): Promise<LeaderPeer> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    const { port } = this.server.address() as AddressInfo;
    return { id: `r${term}`, peer: `127.0.0.1:${port}`, term, ready: true };
  }

  end(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

export class PlayedElection implements Leaders {
  silentMs = 0;
  isReached = true;
  #leader: LeaderPeer | undefined;
  #terms = 0n;
  readonly #listeners = new Set<(leader: LeaderPeer | undefined) => void>();

  get leader(): LeaderPeer | undefined {
    return this.#leader;
  }

  onLeader(listener: (leader: LeaderPeer | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async elect(play: Play): Promise<PlayedLeader> {
    const leader = new PlayedLeader(play);
    onTestFinished(() => leader.end());
    this.#tell(await leader.peer(++this.#terms));
    return leader;
  }

  vacate(): void {
    this.#tell(undefined);
  }

  #tell(leader: LeaderPeer | undefined): void {
    this.#leader = leader;
    for (const listener of [...this.#listeners]) listener(leader);
  }
}

/** Commits what is written a moment later, as an engine far away does. */
export class EagerEngine extends RecordedEngine {
  override write(batch: Parameters<RecordedEngine['write']>[0]): void {
    super.write(batch);
    setImmediate(() => this.commit());
  }
}

export interface TestFronts {
  readonly platform: TestPlatform;
  readonly election: PlayedElection;
  readonly fronts: readonly (ReplicaProxy & {
    readonly url: string;
    readonly feed: RecordedFeed;
  })[];
  readonly token: string;
  /** File of the key that signs endpoint tokens. */
  readonly signingKey: string;
}

type Audit = Parameters<ReplicaProxy['server']>[0];

const SILENT = { isOn: false, begin: () => undefined } as unknown as Audit;

export async function openFronts(
  count: number,
  timeoutMs = 2000,
  audit = SILENT,
): Promise<TestFronts> {
  const history = new RecordedHistory();
  const platform = await openTestPlatform({ engine: new EagerEngine(history) });
  const folder = temporaryFolder();
  const signingKey = join(folder, 'token-signing.key');
  const token = await administratorToken({ ...platform, kinds }, join(folder, 'admin.token'));
  await platform.store.flush();
  const election = new PlayedElection();
  const fronts = [];
  for (let i = 0; i < count; i++) {
    const opened = await openTestFront({ history, election, timeoutMs, audit, signingKey });
    await opened.store.ready();
    fronts.push(opened);
  }
  return { platform, election, fronts, token, signingKey };
}

/** One front on what is in a history; perhaps nothing yet. */
export async function openTestFront(of: {
  readonly history: RecordedHistory;
  readonly election?: PlayedElection;
  readonly timeoutMs?: number;
  readonly answerMs?: number;
  readonly audit?: Audit;
  readonly signingKey?: string;
}): Promise<TestFronts['fronts'][number]> {
  const { history, election = new PlayedElection(), timeoutMs = 2000, audit = SILENT } = of;
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const feed = new RecordedFeed(history);
  const front = openLeaderProxy({
    options: {
      apiGroup: 'management.gitplane.dev',
      proxyPrefix: 'kubernetes',
      configFile: undefined,
      environment: {},
      publicUrl: undefined,
      listen: { host: '127.0.0.1', port: 0 },
      hostnames: [],
    },
    data: { signingKey: of.signingKey ?? join(temporaryFolder(), 'token-signing.key') },
    feed,
    codec: stateCodec,
    leaders: election,
    route: ({ peer }) => {
      const [host = '', port] = peer.split(':');
      return { host, port: Number(port), agent, tls: false };
    },
    timeoutMs,
    ...(of.answerMs === undefined ? {} : { answerMs: of.answerMs }),
    url: () => 'http://front',
    clock: Date,
    logger: createLogger('error', { write: () => undefined }),
  });
  const app = front.server(audit, {});
  await app.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(async () => {
    await app.close();
    await front.close();
  });
  const { port } = app.server.address() as AddressInfo;
  return { ...front, feed, url: `http://127.0.0.1:${port}` };
}

export interface Got {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** One request on a connection of its own. */
export async function ask(
  url: string,
  of: { method?: string; token?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<Got> {
  const { method = 'GET', token, body, headers = {} } = of;
  const own = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return await new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, headers: { ...own, ...headers }, agent: false },
      (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part));
        answer.once('error', reject);
        answer.once('end', () => {
          const text = Buffer.concat(parts).toString();
          resolve({ code: answer.statusCode ?? 0, headers: answer.headers, text });
        });
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });
}

export async function bodyOf(req: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of req as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString();
}
