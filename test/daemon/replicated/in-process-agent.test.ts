/** Connections of a replica to the leader in the same process break as connections of a network do. */
import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { inProcessAgent } from '../../../src/daemon/replicated/in-process-agent.ts';

function send(handle: RequestListener): ReturnType<typeof request> {
  const agent = inProcessAgent(handle);
  onTestFinished(() => agent.destroy());
  const sent = request({ host: 'leader', agent });
  sent.end();
  return sent;
}

async function begun(sent: ReturnType<typeof request>): Promise<IncomingMessage> {
  const [answer] = await once(sent, 'response');
  return answer as IncomingMessage;
}

test('a leader that destroys a request without an answer ends it', async () => {
  const sent = send((_request, response) => void response.destroy());
  await expect(once(sent, 'response')).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('an answer that the leader breaks off does not look whole', async () => {
  const answer = await begun(
    send((_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half', () => response.destroy());
    }),
  );
  await expect(answer.toArray()).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('the leader learns of a client that is gone', async () => {
  let gone: Promise<unknown> | undefined;
  const sent = send((_request, response) => {
    gone = once(response, 'close');
    response.writeHead(200).write('an event');
  });
  const answer = await begun(sent);
  await once(answer, 'data');
  sent.destroy();
  await gone;
});

test('an answer of many megabytes arrives whole at a slow reader', async () => {
  const part = Buffer.alloc(1024 * 1024, 'x');
  const answer = await begun(
    send(async (_request, response) => {
      response.writeHead(200);
      for (let i = 0; i < 8; i++) if (!response.write(part)) await once(response, 'drain');
      response.end('the end');
    }),
  );
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += chunk.length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(bytes).toBe(8 * part.length + 'the end'.length);
});
