/** Remotes that answer a fetch without end, in protocol version 2. */
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { elsewhere, follow } from '../../support/remote.ts';

const MIB = 1024 * 1024;
const FLUSH = Buffer.from('0000');
const DELIMITER = Buffer.from('0001');
const TIP = createHash('sha1').update('nowhere').digest('hex');

function line(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const length = (bytes.length + 4).toString(16).padStart(4, '0');
  return Buffer.concat([Buffer.from(length), bytes]);
}

function band(number: number, content: Buffer): Buffer {
  return line(Buffer.concat([Buffer.from([number]), content]));
}

/** One blob of a pack: its size is 60,000. */
function blob(): Buffer {
  const size = [0x30 | 0x80 | (60_000 & 15), 0x80 | ((60_000 >> 4) & 127), 60_000 >> 11];
  return Buffer.concat([Buffer.from(size), deflateSync(randomBytes(60_000), { level: 0 })]);
}

function packHeader(objects: number): Buffer {
  const header = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
  header.writeUInt32BE(objects, 8);
  return header;
}

/** A remote with a new commit, whose fetch is answered with `next` until the client goes. */
async function endless(first: Buffer, next: () => Buffer): Promise<string> {
  const answer = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const isInfo = request.url?.includes('/info/refs') === true;
    const type = isInfo ? 'advertisement' : 'result';
    response.writeHead(200, { 'content-type': `application/x-git-upload-pack-${type}` });
    if (isInfo) {
      const start = [line('# service=git-upload-pack\n'), FLUSH, line('version 2\n')];
      const offers = [line('ls-refs=unborn\n'), line('fetch=shallow\n'), FLUSH];
      response.end(Buffer.concat([...start, ...offers]));
    } else if (body.includes('command=ls-refs')) {
      response.end(Buffer.concat([line(`${TIP} refs/heads/main\n`), FLUSH]));
    } else {
      const ready = [line('acknowledgments\n'), line('ready\n'), DELIMITER];
      const isDone = body.includes('done\n');
      response.write(Buffer.concat([...(isDone ? [] : ready), line('packfile\n'), first]));
      const send = (): void => {
        while (!response.destroyed && response.write(next()));
        response.once('drain', send);
      };
      send();
    }
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('latin1');
    });
    request.on('end', () => answer(request, response, body));
    response.on('error', () => undefined);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/elsewhere.git`;
}

test('a pack without end is refused at the limit of its size, and leaves no file', async () => {
  const there = elsewhere();
  const { gitDir, repository } = await follow({ url: there.gitDir });
  const before = await repository.head();
  const url = await endless(band(1, packHeader(1_000_000)), () => band(1, blob()));
  const { following } = await follow({ url, gitDir, maxFetchBytes: 2 * MIB });
  const refused = await following.refresh().catch((error: unknown) => error);

  expect(refused).toMatchObject({
    problem: 'limit',
    message: expect.stringMatching(/git fetch wrote a file of more than 2 MiB\. Take large files/),
  });
  expect(readdirSync(join(gitDir, 'objects/pack')).filter((name) => /^tmp/.test(name))).toEqual([]);
  expect(await repository.head()).toBe(before);
});

test('messages without end are refused at the limit of their size', async () => {
  const there = elsewhere();
  const { gitDir, repository } = await follow({ url: there.gitDir });
  const before = await repository.head();
  const message = band(2, Buffer.from(`${'x'.repeat(999)}\n`.repeat(60)));
  const url = await endless(message, () => message);
  const { following } = await follow({ url, gitDir });
  const refused = await following.refresh().catch((error: unknown) => error);

  expect(refused).toMatchObject({
    problem: 'limit',
    message: expect.stringContaining('git fetch wrote more than 16 MiB of messages'),
  });
  expect(await repository.head()).toBe(before);
});
