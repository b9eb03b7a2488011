/**
 * Signing in with the browser of the same computer (RFC 8252): the browser brings a one-time code to a
 * port of the loopback, and the code is exchanged for a key with the verifier that only this process
 * knows (RFC 7636). No key is ever in a URL.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ask, type GivenKey, givenKey, type SignInServer } from './sign-in-server.ts';

const PATIENCE_MS = 10 * 60_000;

export interface BrowserSignIn {
  readonly server: SignInServer;
  /** Text for the page on which the user approves. */
  readonly device: string;
  readonly client: string;
  /** Shows the URL, and opens a browser with it where there is one. */
  open(url: string): void;
}

/** Throws when the user declined, or did not sign in within ten minutes. */
export async function signInWithBrowser(signIn: BrowserSignIn): Promise<GivenKey> {
  const state = randomBytes(32).toString('base64url');
  const verifier = randomBytes(32).toString('base64url');
  const listener = createServer();
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const redirectUri = `http://127.0.0.1:${port}/callback`;
  const query = new URLSearchParams({
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    device: signIn.device,
    client: signIn.client,
  });
  const { server } = signIn;
  const redeem = async (code: string): Promise<GivenKey> =>
    givenKey(
      await ask(server, '/auth/cli/token', {
        method: 'POST',
        body: { code, code_verifier: verifier, redirect_uri: redirectUri },
      }),
    );
  try {
    const arrived = waitForCode(listener, { state, port, server: server.url, redeem });
    signIn.open(`${server.url}/auth/cli?${query}`);
    return await arrived;
  } finally {
    listener.close();
    listener.closeAllConnections();
  }
}

interface Waiting {
  readonly state: string;
  readonly port: number;
  readonly server: string;
  readonly redeem: (code: string) => Promise<GivenKey>;
}

function waitForCode(
  listener: ReturnType<typeof createServer>,
  waiting: Waiting,
): Promise<GivenKey> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error('Nobody signed in within ten minutes; begin again')),
      PATIENCE_MS,
    );
    listener.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const outcome = outcomeOf(request, waiting);
      if (outcome === undefined) {
        response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found\n');
        return;
      }
      clearTimeout(timer);
      const end = (of: 'done' | 'failed' | 'declined', settle: () => void): void => {
        // The page of the platform says how it went, before this process and its port are gone.
        const location = `${waiting.server}/auth/cli/${of}`;
        response.on('close', settle);
        response.writeHead(303, { location, 'cache-control': 'no-store' }).end();
      };
      if (outcome === 'declined') {
        end('declined', () => reject(new Error('Signing in was declined in the browser')));
        return;
      }
      waiting.redeem(outcome.code).then(
        (key) => end('done', () => resolve(key)),
        (error: unknown) => end('failed', () => reject(error as Error)),
      );
    });
  });
}

/** Undefined: a request of another origin. Any page of any site can make the browser send one to this port. */
function outcomeOf(
  { method, url = '', headers }: IncomingMessage,
  { state, port }: Waiting,
): { readonly code: string } | 'declined' | undefined {
  if (method !== 'GET' || headers.host !== `127.0.0.1:${port}`) return undefined;
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1');
  if (pathname !== '/callback' || searchParams.get('state') !== state) return undefined;
  const code = searchParams.get('code');
  if (searchParams.get('error') !== null) return 'declined';
  return code === null ? undefined : { code };
}
