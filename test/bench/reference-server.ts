/**
 * What HTTP costs with nothing behind it, in a process of its own: servers that do the least with
 * which a request can be answered. Spoken to over the channel to its parent.
 */
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import type { ReadyAnswer, ReferenceStyle } from './bare-server.ts';

const TYPE = { 'content-type': 'application/json' };

/** Reads each request to its end, and answers what `make` makes. */
function answering(status: number, make: () => Buffer): RequestListener {
  return (request, response) => {
    request.resume();
    request.once('end', () => {
      const bytes = make();
      response.writeHead(status, { ...TYPE, 'content-length': bytes.length }).end(bytes);
    });
  };
}

const LISTENERS: Readonly<
  Record<Exclude<ReferenceStyle, 'fastify'>, (answer: ReadyAnswer, body: Buffer) => RequestListener>
> = {
  bare: ({ status }, body) => answering(status, () => body),
  stringify: ({ status }, body) => {
    const list = JSON.parse(body.toString());
    return answering(status, () => Buffer.from(JSON.stringify(list)));
  },
  select: ({ status, label: [name, value] = ['', ''] }, body) => {
    const list: { items: KubeObject[] } = JSON.parse(body.toString());
    const isWanted = ({ metadata }: KubeObject): boolean => metadata.labels?.[name] === value;
    return answering(status, () =>
      Buffer.from(JSON.stringify({ ...list, items: list.items.filter(isWanted) })),
    );
  },
  stream: ({ status }, body) => {
    const open: ServerResponse[] = [];
    process.on('message', () => {
      for (const response of open) response.write(body);
    });
    return (_request, response) => {
      response.writeHead(status, TYPE).flushHeaders();
      open.push(response);
    };
  },
};

process.once('message', async (answer: ReadyAnswer) => {
  const { style = 'bare', status, tls } = answer;
  const body = Buffer.from(answer.body, 'base64');
  if (style === 'fastify') {
    const app = fastify();
    app.get('*', (_request, reply) => reply.code(status).headers(TYPE).send(body));
    await app.listen({ host: '127.0.0.1', port: 0 });
    process.send?.((app.server.address() as AddressInfo).port);
    return;
  }
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  server.on('request', LISTENERS[style](answer, body));
  server.listen(0, '127.0.0.1', 4096, () => process.send?.((server.address() as AddressInfo).port));
});
process.once('disconnect', () => process.exit(0));
