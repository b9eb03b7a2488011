/**
 * Asks a health endpoint and exits 0 when it answers 200: the health check of the container
 * image, which has no other HTTP client. The certificate is not checked: the request goes to the
 * same container, carries nothing and trusts nothing in the answer.
 */
import { request } from 'node:https';

const url = process.argv[2] ?? 'https://127.0.0.1:8443/livez';
const probe = request(url, { rejectUnauthorized: false, timeout: 2500 }, (answer) => {
  answer.resume();
  process.exitCode = answer.statusCode === 200 ? 0 : 1;
});
probe.on('timeout', () => probe.destroy(new Error('timed out')));
probe.on('error', () => {
  process.exitCode = 1;
});
probe.end();
