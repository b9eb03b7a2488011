/** Signing in where there is no browser (RFC 8628): a code is typed into a browser elsewhere. */
import { setTimeout as pause } from 'node:timers/promises';
import { isRecord } from '../apimachinery/index.ts';
import { AnswerError } from './https-client.ts';
import { ask, type GivenKey, givenKey, type SignInServer } from './sign-in-server.ts';

export interface DeviceSignIn {
  readonly server: SignInServer;
  readonly device: string;
  readonly client: string;
  /** Tells the person where to go, and what to type there. */
  show(of: { readonly url: string; readonly code: string; readonly minutes: number }): void;
  /** Absent: real time. */
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
}

/** Throws when the user declined, or did not approve in time. */
export async function signInWithCode(signIn: DeviceSignIn): Promise<GivenKey> {
  const { server, device, client, sleep = pause } = signIn;
  const begun = await ask(server, '/auth/device', { method: 'POST', body: { device, client } });
  const { device_code: deviceCode, user_code: code, verification_uri: url } = begun;
  if (typeof deviceCode !== 'string' || typeof code !== 'string' || typeof url !== 'string') {
    throw new Error(`${server.url} gave no code to sign in with`);
  }
  const seconds = Number(begun['expires_in']) || 600;
  signIn.show({ url, code, minutes: Math.round(seconds / 60) });
  let interval = Number(begun['interval']) || 5;
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    await sleep(interval * 1000);
    const polled = await poll(server, deviceCode);
    if (typeof polled !== 'string') return polled;
    const refusal = REFUSALS[polled];
    if (refusal !== undefined) throw new Error(refusal);
    // Also without a response: a network that comes back must not be flooded (section 3.5).
    if (polled !== 'authorization_pending') interval += 5;
  }
  throw new Error(REFUSALS['expired_token']);
}

const REFUSALS: Readonly<Record<string, string>> = {
  access_denied: 'Signing in was declined in the browser',
  expired_token: 'Nobody agreed in time; begin again',
};

/** The key, or a word of RFC 8628; `unavailable` where there was no answer. */
async function poll(server: SignInServer, deviceCode: string): Promise<GivenKey | string> {
  try {
    const body = {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: deviceCode,
    };
    return givenKey(await ask(server, '/auth/device/token', { method: 'POST', body }));
  } catch (error) {
    if (!(error instanceof AnswerError)) return 'unavailable';
    const word = isRecord(error.body) ? error.body['error'] : undefined;
    if (typeof word === 'string') return word;
    if (error.code >= 500 || error.code === 429) return 'unavailable';
    throw error;
  }
}
