/**
 * A network of the kernel's own: each place is a network namespace with a cable to a router, which is
 * a namespace too, and one cable leads to the tests. What is lost is lost in the router, without a
 * word to anybody, as in real networks: its routing rules say from whom to whom nothing passes.
 *
 * Namespaces outlive the process that made them. Their names have its id, and the process that makes the next
 * ones removes those whose process is gone, with all that still runs in them.
 */
import { type ExecFileSyncOptions, execFileSync, spawnSync } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { run } from './daemon.ts';
import type { Network, Place, Way } from './network.ts';
import { isProcess } from './processes.ts';
import type { Direction } from './tcp-proxy.ts';

const NAME = /^gitplane-(\d+)-\d+-/;
const NETWORKS = 250;
const QUIET: ExecFileSyncOptions = { stdio: ['pipe', 'pipe', 'pipe'], timeout: 30_000 };

let missing: Promise<string | undefined> | undefined;

/** Why there can be none here; undefined: there can. */
export function namespacesMissing(): Promise<string | undefined> {
  missing ??= probe();
  return missing;
}

/** A place reaches the tests, its connections can be broken, and it can be cut off. */
async function probe(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'network namespaces are a thing of Linux';
  if (process.getuid?.() !== 0) return 'network namespaces want root';
  const server = createServer((socket) => void socket.on('error', () => undefined));
  let network: NamespaceNetwork | undefined;
  try {
    network = NamespaceNetwork.open();
    const { outside } = network;
    const place = network.place('probe');
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
    const { port } = server.address() as AddressInfo;
    const connects = async (seconds: number, command = 'true'): Promise<boolean> => {
      const [nsenter = '', ...words] = place.via;
      const script = `exec 3<>/dev/tcp/${outside.host}/${port}; ${command}`;
      const limit = ['timeout', String(seconds), 'bash', '-c', script];
      return (await run(nsenter, [...words, ...limit])).code === 0;
    };
    if (!(await connects(10))) return 'what is in a network namespace does not get out of it';
    // What is broken ends; what is not is waited for, and that is another exit code.
    const broken = `ss -K dport = :${port} > /dev/null; read -t 5 -u 3; test $? -le 128`;
    if (!(await connects(10, broken))) return 'ss -K breaks no connections here';
    const mend = network.part([place], [outside]);
    const leaks = await connects(0.3);
    mend();
    return leaks ? 'the routing rules of network namespaces hold nothing back' : undefined;
  } catch (error) {
    return `network namespaces cannot be made: ${(error as Error).message.trim()}`;
  } finally {
    server.close();
    await network?.close();
  }
}

interface NamespacePlace extends Place {
  readonly namespace: string | undefined;
  /** Of the end at the router. */
  readonly cable: string;
}

export class NamespaceNetwork implements Network {
  readonly kind = 'namespaces';
  readonly reason = undefined;
  /** Where the tests are. */
  readonly outside: Place;
  readonly #number: number;
  readonly #router: string;
  readonly #places: NamespacePlace[] = [];

  static open(): NamespaceNetwork {
    removeStale();
    for (let tries = 0; tries < NETWORKS; tries++) {
      const number = 1 + ((process.pid + tries) % NETWORKS);
      const network = new NamespaceNetwork(number);
      if (network.#begin()) return network;
    }
    throw new Error('All networks are taken');
  }

  private constructor(number: number) {
    this.#number = number;
    this.#router = this.#namespace('router');
    this.outside = { name: 'outside', host: this.#address(0, 2), via: [] };
  }

  /** False: the number is taken. */
  #begin(): boolean {
    ip([`netns add ${this.#router}`]);
    const cable = `gpnet${this.#number}`;
    try {
      // The name of an interface is taken by one at a time.
      ip([`link add ${cable} type veth peer name c0 netns ${this.#router}`]);
    } catch (error) {
      ip([`netns del ${this.#router}`]);
      if (String(error).includes('File exists')) return false;
      throw error;
    }
    execFileSync(
      'nsenter',
      [`--net=/run/netns/${this.#router}`, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward'],
      QUIET,
    );
    ip([
      `addr add ${this.outside.host}/30 dev ${cable}`,
      `link set ${cable} up`,
      `route add 10.213.${this.#number}.0/24 via ${this.#address(0, 1)}`,
    ]);
    ip([`addr add ${this.#address(0, 1)}/30 dev c0`, 'link set c0 up'], this.#router);
    return true;
  }

  place(name: string): Place {
    const index = this.#places.length + 1;
    const namespace = this.#namespace(name);
    const cable = `c${index}`;
    const host = this.#address(index, 2);
    const router = this.#address(index, 1);
    ip([
      `netns add ${namespace}`,
      `link add ${cable} netns ${this.#router} type veth peer name eth0 netns ${namespace}`,
    ]);
    ip([`addr add ${router}/30 dev ${cable}`, `link set ${cable} up`], this.#router);
    ip(
      [
        'link set lo up',
        `addr add ${host}/30 dev eth0`,
        'link set eth0 up',
        `route add default via ${router}`,
      ],
      namespace,
    );
    const via = ['nsenter', `--net=/run/netns/${namespace}`, '--'];
    const place = { name, host, via, namespace, cable };
    this.#places.push(place);
    return place;
  }

  way(from: readonly Place[], to: Place, port: number): Promise<Way> {
    const others = from.filter((one) => one.host !== to.host);
    return Promise.resolve(new NamespaceWay(this, others, to, port));
  }

  part(some: readonly Place[], others: readonly Place[]): () => void {
    const mends = [this.hold(some, others), this.hold(others, some)];
    return () => {
      for (const mend of mends) mend();
    };
  }

  /** Nothing passes from the ones to the others. */
  hold(from: readonly Place[], to: readonly Place[]): () => void {
    const rules = from.flatMap((one) =>
      to.map((other) => `from ${one.host} to ${other.host} blackhole`),
    );
    const all = (verb: 'add' | 'del'): void =>
      ip(
        rules.map((rule) => `rule ${verb} ${rule}`),
        this.#router,
      );
    all('add');
    let isHeld = true;
    return () => {
      if (isHeld) all('del');
      isHeld = false;
    };
  }

  plug(place: Place, isIn: boolean): void {
    ip([`link set ${this.#cable(place)} ${isIn ? 'up' : 'down'}`], this.#router);
  }

  /** The cable of a place takes so little that a page of memory takes that long. */
  slow(place: Place, milliseconds: number): void {
    const bits = Math.round((8 * 4096 * 1000) / milliseconds);
    const shape = `tbf rate ${bits}bit burst 8kb latency 2s`;
    const { namespace = '' } = place as NamespacePlace;
    for (const [where, device] of [
      [namespace, 'eth0'],
      [this.#router, this.#cable(place)],
    ]) {
      const words = `-n ${where} qdisc replace dev ${device} root ${shape}`;
      execFileSync('tc', words.split(' '), QUIET);
    }
  }

  /** It takes everything at once again. */
  hurry(place: Place): void {
    const { namespace = '' } = place as NamespacePlace;
    for (const [where, device] of [
      [namespace, 'eth0'],
      [this.#router, this.#cable(place)],
    ]) {
      // Fails where it was not slow.
      spawnSync('tc', `-n ${where} qdisc del dev ${device} root`.split(' '), QUIET);
    }
  }

  async close(): Promise<void> {
    for (const { namespace } of this.#places) removeNamespace(namespace ?? '');
    removeNamespace(this.#router);
  }

  #cable(place: Place): string {
    return (place as NamespacePlace).cable;
  }

  #namespace(name: string): string {
    return `gitplane-${process.pid}-${this.#number}-${name}`;
  }

  #address(place: number, host: number): string {
    return `10.213.${this.#number}.${4 * place + host}`;
  }
}

class NamespaceWay implements Way {
  readonly address: string;
  readonly #network: NamespaceNetwork;
  readonly #from: readonly Place[];
  readonly #to: Place;
  readonly #port: number;
  #mends: (() => void)[] = [];

  constructor(network: NamespaceNetwork, from: readonly Place[], to: Place, port: number) {
    this.#network = network;
    this.#from = from;
    this.#to = to;
    this.#port = port;
    this.address = `${to.host}:${port}`;
  }

  blackhole(direction: Direction | 'both' = 'both'): void {
    if (direction !== 'down') this.#mends.push(this.#network.hold(this.#from, [this.#to]));
    if (direction !== 'up') this.#mends.push(this.#network.hold([this.#to], this.#from));
  }

  /** Both ends are told at once, as by a router that lost its memory. */
  cut(): void {
    for (const { via } of this.#from) {
      const [nsenter = '', ...words] = via;
      const what = ['ss', '-K', 'dst', this.#to.host, 'dport', '=', `:${this.#port}`];
      execFileSync(nsenter, [...words, ...what], QUIET);
    }
  }

  delay(milliseconds: number): void {
    for (const place of this.#from) this.#network.slow(place, milliseconds);
  }

  heal(): void {
    const mends = this.#mends;
    this.#mends = [];
    for (const mend of mends) mend();
    for (const place of this.#from) this.#network.hurry(place);
  }

  async close(): Promise<void> {}
}

/** Of processes that are gone, whose tests were killed. */
function removeStale(): void {
  const listed = execFileSync('ip', ['netns', 'list'], QUIET).toString();
  for (const line of listed.split('\n')) {
    const name = line.split(' ')[0] ?? '';
    const owner = NAME.exec(name)?.[1];
    if (owner === undefined || isProcess(Number(owner))) continue;
    process.stderr.write(`Removing ${name}, which process ${owner} left behind\n`);
    removeNamespace(name);
  }
}

function removeNamespace(name: string): void {
  try {
    const pids = execFileSync('ip', ['netns', 'pids', name], QUIET).toString();
    for (const pid of pids.split('\n').filter((one) => one !== '')) {
      process.kill(Number(pid), 'SIGKILL');
    }
    ip([`netns del ${name}`]);
  } catch {
    // Another process removed it, or its last process ended meanwhile.
  }
}

function ip(commands: readonly string[], namespace?: string): void {
  const where = namespace === undefined ? [] : ['-n', namespace];
  try {
    execFileSync('ip', [...where, '-batch', '-'], { ...QUIET, input: commands.join('\n') });
  } catch (error) {
    const { stderr = '' } = error as { stderr?: Buffer };
    throw new Error(`ip ${commands.join('; ')}: ${stderr.toString() || String(error)}`, {
      cause: error,
    });
  }
}
