/** Follows redirects between hosts as a browser does, with a jar of cookies for each. */
import { request } from 'node:http';
import { request as tlsRequest } from 'node:https';

const MOST_STEPS = 20;

/** From a URL on, until a redirect leads to an origin; resolves with where to, and does not go there. */
export async function wanderTo(start: string, origin: string): Promise<URL> {
  const jars = new Map<string, Map<string, string>>();
  let url = new URL(start);
  for (let step = 0; step < MOST_STEPS; step++) {
    if (url.origin === origin) return url;
    const jar = jars.get(url.origin) ?? new Map<string, string>();
    jars.set(url.origin, jar);
    const { location, cookies, text } = await visit(url, jar);
    for (const [name, value] of cookies) jar.set(name, value);
    if (location === undefined) throw new Error(`${url.href} leads nowhere: ${text.slice(0, 500)}`);
    url = new URL(location, url);
  }
  throw new Error(`${start} does not end`);
}

function visit(
  url: URL,
  jar: ReadonlyMap<string, string>,
): Promise<{ location: string | undefined; cookies: [string, string][]; text: string }> {
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  const send = url.protocol === 'https:' ? tlsRequest : request;
  return new Promise((resolve, reject) => {
    const sent = send(
      url,
      { headers: cookie === '' ? {} : { cookie }, rejectUnauthorized: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const cookies = (response.headers['set-cookie'] ?? []).map((line): [string, string] => {
            const [pair = ''] = line.split(';');
            const at = pair.indexOf('=');
            return [pair.slice(0, at), pair.slice(at + 1)];
          });
          const text = Buffer.concat(chunks).toString();
          resolve({ location: response.headers.location, cookies, text });
        });
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}
