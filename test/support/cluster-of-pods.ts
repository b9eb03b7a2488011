/** An API server that has nodes and pods alone, for tests of costs. It counts the requests that it got. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stringify } from 'yaml';

type Objects = readonly object[];
/** Answers in the place of the server. False: the server answers. */
type Judge = (path: string, response: ServerResponse) => boolean;

export class ClusterOfPods {
  readonly requests: string[] = [];
  nodes: Objects = [
    { metadata: { name: 'n' }, status: { allocatable: { cpu: '4', memory: '8Gi' } } },
  ];
  pods: Objects = [];
  judge: Judge = () => false;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://server');
      this.requests.push(`${request.method} ${url.pathname}`);
      if (this.judge(url.pathname, response)) return;
      const isNodes = url.pathname === '/api/v1/nodes';
      const found = isNodes || url.pathname === '/api/v1/pods';
      response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
      const all = isNodes ? this.nodes : this.pods;
      response.end(JSON.stringify(found ? pageOf(all, url.searchParams, isNodes) : {}));
    });
  }

  static async start(): Promise<ClusterOfPods> {
    const cluster = new ClusterOfPods();
    cluster.#server.listen(0, '127.0.0.1');
    await once(cluster.#server, 'listening');
    return cluster;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get kubeconfig(): string {
    return stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: this.url } }],
      users: [{ name: 'u', user: { token: 't' } }],
    });
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** As the API server does: `limit` objects from the position in `continue`. */
function pageOf(all: Objects, query: URLSearchParams, isNodes: boolean): object {
  const start = Number(query.get('continue') ?? 0);
  const end = start + Number(query.get('limit') ?? all.length);
  const kind = isNodes ? 'NodeList' : 'PodList';
  const metadata = { resourceVersion: '1', ...(end < all.length ? { continue: `${end}` } : {}) };
  return { kind, apiVersion: 'v1', metadata, items: all.slice(start, end) };
}

export function podOf(name: string, requests: object): object {
  const containers = [{ name: 'main', resources: { requests } }];
  return { metadata: { name }, spec: { nodeName: 'n', containers }, status: { phase: 'Running' } };
}
