/**
 * A client that breaks its connections, in a process of its own: the server reads many of its bytes at once.
 * Arguments: port, ALPN protocol, bytes of a connection (hex), number of connections.
 */
import { connect } from 'node:tls';

/** At the same time. */
const CONNECTIONS = 8;

const [port, alpn, hex, count] = process.argv.slice(2);
const bytes = Buffer.from(hex, 'hex');
let left = Number(count);

async function attack() {
  // The certificate is that of the test.
  const trust = { rejectUnauthorized: false };
  const client = connect({ port: Number(port), ...trust, ALPNProtocols: [alpn] });
  const closed = new Promise((done) => client.once('close', done));
  // A refusal is what it deserves.
  client.on('error', () => undefined).on('end', () => client.destroy());
  await Promise.race([new Promise((done) => client.once('secureConnect', done)), closed]);
  client.resume();
  client.end(bytes);
  await closed;
}

await Promise.all(
  Array.from({ length: CONNECTIONS }, async () => {
    while (left-- > 0) await attack();
  }),
);
