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

  override createConnection(): Duplex {
    const [near, far] = duplexPair();
    this.#accept(far);
    return near;
  }
}
