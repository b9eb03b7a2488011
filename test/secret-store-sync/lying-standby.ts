/** A standby of a store that answers reads of secrets from an earlier time, as OpenBao 2.5 and later may. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Standby {
  readonly address: string;
  /** From now on reads show for each secret the answer of before its newest change. */
  lag(): void;
  catchUp(): void;
  close(): Promise<void>;
}

export async function startStandby(active: string): Promise<Standby> {
  /** Different answers to each read, oldest first. */
  const seen = new Map<string, string[]>();
  let isLagging = false;
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/' } = request;
    const body = await text(request);
    const headers = Object.entries(request.headers).flatMap(([name, value]) =>
      /^(x-vault-.*|content-type)$/.test(name) ? [[name, String(value)]] : [],
    );
    const answer = await fetch(active + url, {
      method,
      headers: headers as [string, string][],
      ...(body !== '' && { body }),
    });
    let said = await answer.text();
    if (url.startsWith('/v1/sys/health')) {
      said = JSON.stringify({ ...JSON.parse(said), standby: true });
    } else if (method === 'GET' && url.includes('/data/') && !url.includes('?')) {
      const past = seen.get(url) ?? [];
      const isNew = versionOf(past.at(-1)) !== versionOf(said);
      if (isNew && !isLagging) seen.set(url, [...past, said]);
      if (isLagging) said = past.at(-2) ?? said;
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(said);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lag: () => {
      isLagging = true;
    },
    catchUp: () => {
      isLagging = false;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function versionOf(answer: string | undefined): number | undefined {
  return answer === undefined ? undefined : JSON.parse(answer).data?.metadata?.version;
}
