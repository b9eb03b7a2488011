/** Deliveries to receivers: CloudEvents with a signature, chat messages, mail. */
import { createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { expect, onTestFinished, test } from 'vitest';
import { sendMail } from '../../src/notifications/email.ts';
import { eventOf, linesOf, readEvent } from '../../src/notifications/event.ts';
import { sendToChat, sendWebhook, signature } from '../../src/notifications/webhook.ts';
import { HttpClient } from '../../src/outbound/http-client.ts';
import { makeEtcdTls } from '../support/etcd-tls.ts';

const event = eventOf('Degraded', 'Raised', [
  { subject: 'Team "payments"', message: 'teams/payments.yaml:3:1: unknown field <!channel>' },
]);
const delivery = { id: '0b0a', created: Date.parse('2026-11-24T10:00:00Z') };
const clock = { now: () => Date.parse('2026-11-24T10:00:05Z') };
const { signal } = new AbortController();
const source = 'https://platform.example.com';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function receive(listener?: RequestListener): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      if (listener === undefined) response.writeHead(204).end();
      else listener(request, response);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/t0k3n`, received };
}

function sending(deadlineMs = 5000) {
  const http = new HttpClient({ maxBytes: 0, deadlineMs });
  onTestFinished(() => http.close());
  return { delivery, event, source, clock, http, signal };
}

test('a webhook is a CloudEvent, and its signature covers id, time and body', async () => {
  const { url, received } = await receive();
  const key = Buffer.from('a key of thirty-two bytes is fine');
  await sendWebhook(sending(), { url, secret: `whsec_${key.toString('base64')}` });
  const [{ headers, body }] = received as [Received];
  expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
  expect(JSON.parse(body)).toEqual({
    specversion: '1.0',
    id: '0b0a',
    source,
    type: 'dev.gitplane.degraded.raised',
    time: '2026-11-24T10:00:00Z',
    datacontenttype: 'application/json',
    data: { type: 'Degraded', phase: 'Raised', count: 1, items: event.items },
  });
  const signed = `0b0a.${headers['webhook-timestamp']}.${body}`;
  const expected = createHmac('sha256', key).update(signed).digest('base64');
  expect(headers['webhook-signature']).toBe(`v1,${expected}`);
  expect(headers['webhook-timestamp']).toBe('1795514405');
});

test.each(['', 'whsec_', 'whsec_!!!!!!!!!!'])(
  'nothing is signed with the empty key of %j',
  async (secret) => {
    const { url, received } = await receive();
    const sent = sendWebhook(sending(), { url, secret });
    await expect(sent).rejects.toMatchObject({ problem: 'unavailable' });
    expect(received).toEqual([]);
  },
);

test('the signature of an example of Standard Webhooks', () => {
  const body = '{"event_type":"ping","data":{"success":true}}';
  const text = `msg_loFOjxBNrRLzqYUf.1731705121.${body}`;
  expect(signature('whsec_plJ3nmyCDGBKInavdOK15jsl', text)).toBe(
    'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
  );
});

test('a chat message mentions nobody', async () => {
  const { url, received } = await receive();
  await sendToChat(sending(), { url });
  const { text } = JSON.parse(received[0]?.body ?? '');
  expect(text).toContain('*Manifests are not valid* (https://platform.example.com)');
  expect(text).toContain(
    '• Team "payments": teams/payments.yaml:3:1: unknown field &lt;!channel&gt;',
  );
});

test.each([
  ['@channel, look', '@\u200bchannel, look'],
  ['"@ada"', '"@\u200bada"'],
  ['ada@example.com', 'ada@example.com'],
])('%s stays a text in a chat', async (message, shown) => {
  const { url, received } = await receive();
  const loud = eventOf('Degraded', 'Raised', [{ subject: 'Team "a"', message }]);
  await sendToChat({ ...sending(), event: loud }, { url });
  expect(JSON.parse(received[0]?.body ?? '').text).toContain(`• Team "a": ${shown}`);
});

const HOSTILE: Record<string, [RequestListener, string]> = {
  'redirects to a metadata service': [
    (_request, response) =>
      response.writeHead(307, { location: 'http://169.254.169.254/latest' }).end(),
    'redirects elsewhere',
  ],
  'sends no answer': [() => undefined, 'no answer within 3000 ms'],
  'drops the connection': [(_request, response) => response.destroy(), 'Cannot reach'],
  'refuses it': [(_request, response) => response.writeHead(500).end('t0k3n'), 'answered 500'],
};

test.each(Object.entries(HOSTILE))('a receiver that %s', async (_name, [listener, problem]) => {
  const { url, received } = await receive(listener);
  const sent = sendWebhook(sending(3000), { url, secret: 'sixteen letters!' });
  await expect(sent).rejects.toMatchObject({ problem: 'unavailable' });
  await expect(sent).rejects.toThrow(problem);
  await expect(sent).rejects.not.toThrow(/t0k3n/);
  expect(received).toHaveLength(1);
});

test('a receiver with an endless answer has accepted it', async () => {
  const { url } = await receive((_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more);
    more();
  });
  await sendWebhook(sending(), { url, secret: 'sixteen letters!' });
});

test.each(['http://169.254.169.254/x', 'no URL'])('does not send to %s', async (url) => {
  await expect(sendToChat(sending(), { url })).rejects.toMatchObject({ problem: 'unavailable' });
});

test('a long list is cut, and says how much is left out', () => {
  const items = Array.from({ length: 30 }, (_, n) => ({
    subject: `T${n}`,
    message: 'x'.repeat(900),
  }));
  const long = eventOf('Degraded', 'Raised', items);
  expect(long.items).toHaveLength(20);
  expect(linesOf(long).at(-1)).toBe('… and 10 more');
  expect(Buffer.byteLength(JSON.stringify(long))).toBeLessThan(16_384);
  expect(readEvent(JSON.parse(JSON.stringify(long)))).toEqual(long);
  expect(readEvent({ type: 'Other' })).toBeUndefined();
});

interface Mailbox {
  readonly port: number;
  readonly mails: { readonly from: string; readonly to: string[]; readonly text: string }[];
}

async function mailServer(options: SMTPServerOptions = {}): Promise<Mailbox> {
  const mails: Mailbox['mails'] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onData: (stream, session, done) => {
      let text = '';
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        mails.push({ from, to: rcptTo.map(({ address }) => address), text });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', () => done()));
  onTestFinished(() => new Promise((done) => server.close(done)));
  return { port: (server.server.address() as AddressInfo).port, mails };
}

const mail = {
  host: '127.0.0.1',
  from: 'gitplane@example.com',
  to: ['ops@example.com', 'b@example.com'],
};

test('mail has one id over all attempts, and the lines', async () => {
  const { port, mails } = await mailServer();
  await sendMail({ delivery, event, source }, { ...mail, port, tls: 'None' }, signal);
  expect(mails[0]).toMatchObject({ from: mail.from, to: mail.to });
  expect(mails[0]?.text).toContain('Message-ID: <0b0a@gitplane>');
  expect(mails[0]?.text).toContain('Subject: [gitplane] Manifests are not valid');
  expect(mails[0]?.text).toContain('Team "payments": teams/payments.yaml:3:1');
});

test.each(['StartTLS', 'Implicit'] as const)(
  'mail with %s trusts an authority that is named, and no other',
  async (tls) => {
    const folder = mkdtempSync(join(tmpdir(), 'mail-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { ca, serverCert, serverKey } = await makeEtcdTls(folder);
    const [key, cert] = [serverKey, serverCert].map((file) => readFileSync(file));
    const secure = tls === 'Implicit';
    const { port, mails } = await mailServer({ key, cert, secure, disabledCommands: [] });
    const sendWith = (trusted?: string) =>
      sendMail({ delivery, event, source }, { ...mail, port, tls, ca: trusted }, signal);
    await expect(sendWith()).rejects.toMatchObject({ problem: 'unavailable' });
    expect(mails).toEqual([]);
    await sendWith(readFileSync(ca, 'utf8'));
    expect(mails).toHaveLength(1);
  },
);

test('no mail and no password leave without the encryption that was asked for', async () => {
  let attempts = 0;
  const { port, mails } = await mailServer({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: (_auth, _session, done) => {
      attempts += 1;
      done(null, { user: 'x' });
    },
  });
  const login = { username: 'gitplane', password: 'p4ssw0rd' };
  const sent = sendMail({ delivery, event, source }, { ...mail, ...login, port }, signal);
  await expect(sent).rejects.toMatchObject({ problem: 'unavailable' });
  expect([mails.length, attempts]).toEqual([0, 0]);
});

test.each<[number, string]>([
  [550, 'refused'],
  [451, 'unavailable'],
])('a mail server that answers %i: %s', async (responseCode, problem) => {
  const { port } = await mailServer({
    onRcptTo: (_address, _session, done) =>
      done(Object.assign(new Error('no such mailbox'), { responseCode })),
  });
  const sent = sendMail({ delivery, event, source }, { ...mail, port, tls: 'None' }, signal);
  await expect(sent).rejects.toMatchObject({ problem });
});

test('does not connect to a mail server at a metadata address', async () => {
  const host = '169.254.169.254';
  const sent = sendMail({ delivery, event, source }, { ...mail, host }, signal);
  await expect(sent).rejects.toThrow(/metadata service/);
});

/** Speaks as it likes, to each connection. */
async function hostileMailServer(speak: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    speak(socket);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test('a mail server that answers a line from time to time, without end, takes a minute at most', async () => {
  const port = await hostileMailServer((socket) => {
    socket.write('220 hello\r\n');
    socket.once('data', () => {
      const timer = setInterval(() => socket.write('250-more\r\n'), 10);
      socket.once('close', () => clearInterval(timer));
    });
  });
  const sent = sendMail(
    { delivery, event, source, deadlineMs: 500 },
    { ...mail, port, tls: 'None' },
    signal,
  );
  await expect(sent).rejects.toMatchObject({ problem: 'unavailable' });
  await expect(sent).rejects.toThrow('did not take it within 500 ms');
});

test('a mail server that floods the daemon with a line without end is left', async () => {
  let bytes = 0;
  const port = await hostileMailServer((socket) => {
    const chunk = Buffer.alloc(65_536, '2');
    const more = (): void => {
      do bytes += chunk.length;
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', more);
    more();
  });
  const sent = sendMail({ delivery, event, source }, { ...mail, port, tls: 'None' }, signal);
  await expect(sent).rejects.toMatchObject({ problem: 'unavailable' });
  // As many as fit into buffers of the system beside the limit of one answer.
  expect(bytes).toBeLessThan(64 * 1024 * 1024);
});

test('a mail server that answers more than was asked is left', async () => {
  const port = await hostileMailServer((socket) => {
    socket.write('220 hello\r\n');
    socket.once('data', () => {
      socket.write('250-hello\r\n250 AUTH PLAIN\r\n');
      socket.once('data', () => {
        const replies = Buffer.from('334 eA==\r\n'.repeat(3000));
        const more = (): void => {
          while (!socket.destroyed && socket.write(replies));
        };
        socket.on('drain', more);
        more();
      });
    });
  });
  const sent = sendMail(
    { delivery, event, source, deadlineMs: 10_000 },
    { ...mail, port, tls: 'None', username: 'gitplane', password: 'p4ssw0rd' },
    signal,
  );
  await expect(sent).rejects.toThrow(/does not take it: ESOCKET$/);
});

test('a mail server that hangs ends with the process', async () => {
  const controller = new AbortController();
  const { port } = await mailServer({ onConnect: () => controller.abort() });
  const sent = sendMail(
    { delivery, event, source },
    { ...mail, port, tls: 'None' },
    controller.signal,
  );
  await expect(sent).rejects.toMatchObject({
    problem: 'unavailable',
    message: expect.not.stringContaining('ETIMEDOUT'),
  });
});
