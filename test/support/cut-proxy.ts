/** A TCP proxy that can refuse, and cut what is under way. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CutProxy {
  readonly port: number;
  /** Where new connections go. */
  upstream: number;
  refusing: boolean;
  /** How many connections were turned away or cut. */
  readonly broken: number;
  cut(): void;
  close(): Promise<void>;
}

export async function startCutProxy(upstream: number): Promise<CutProxy> {
  const open = new Set<Socket>();
  const state = { upstream, refusing: false, broken: 0 };
  const server = createServer((client) => {
    client.on('error', () => undefined);
    if (state.refusing) {
      state.broken += 1;
      client.destroy();
      return;
    }
    const far = connect(state.upstream, '127.0.0.1');
    for (const [socket, other] of [
      [client, far],
      [far, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    state.broken += open.size / 2;
    for (const socket of open) socket.destroy();
  };
  return Object.assign(state, {
    port: (server.address() as AddressInfo).port,
    cut,
    close: () => {
      cut();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  });
}
