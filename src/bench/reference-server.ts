/**
 * What HTTP costs with nothing behind it: a bare node:http (or node:https) server, in a process of
 * its own, that reads each request and answers ready bytes. Spoken to over the channel to its parent.
 */
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ReadyAnswer } from './bare-server.ts';

process.once('message', ({ body, status, tls }: ReadyAnswer) => {
  const bytes = Buffer.from(body, 'base64');
  const headers = { 'content-type': 'application/json', 'content-length': bytes.length };
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  server.on('request', (request, response) => {
    request.resume();
    request.once('end', () => response.writeHead(status, headers).end(bytes));
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
});
process.once('disconnect', () => process.exit(0));
