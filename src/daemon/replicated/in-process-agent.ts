/** HTTP agent from a replica's proxy to the leader in the same process, without a network. */
import { Agent, createServer, type RequestListener } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';

/** Every connection of the agent is answered by `handle`. */
export function inProcessAgent(handle: RequestListener): Agent {
  const server = createServer(handle);
  return new InProcessAgent((connection) => server.emit('connection', connection));
}

class InProcessAgent extends Agent {
  readonly #accept: (connection: Duplex) => void;

  constructor(accept: (connection: Duplex) => void) {
    super();
    this.#accept = accept;
  }

  /**
   * Each side of a pair is told of a regular end of the other one alone, so that a broken connection is
   * passed on here: a client that is gone ends its request at the leader, and a leader that breaks an
   * answer off ends it for the client.
   */
  override createConnection(): Duplex {
    const [near, far] = duplexPair();
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroy());
    this.#accept(far);
    return near;
  }
}
