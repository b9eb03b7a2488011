/**
 * `/device` and `/auth/device`: a program without a browser asks for a key (RFC 8628). It shows a code; a
 * signed-in person types it into any browser, sees the request, and approves.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { FailedLogins } from '../../auth/index.ts';
import {
  type DeviceRequest,
  SignInError,
  shownText,
  tooManyAttempts,
} from '../../sign-in/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { type BrowserSession, browserSession } from './browser.ts';
import { codeBody, confirmBody, messageBody } from './confirm-page.ts';
import { type Exchange, limitSlowBody, signInRoute } from './exchange.ts';
import { readFields } from './forms.ts';
import { sendPage } from './html-response.ts';
import { asOAuthError, csrfField, json, keyAnswer, ownForm } from './key-approval.ts';
import { loginFirst } from './login-route.ts';

const MOST_BYTES = 16 * 1024;
const ROUTE = { config: { ownAccess: true }, bodyLimit: MOST_BYTES, onRequest: limitSlowBody };
/** Sign-ins that one address may begin at once, then one every ten seconds. */
const BEGIN_RATE = { burst: 20, perSecond: 0.1 };
/** User codes that one person may try at once, then one every three seconds. */
const CODE_RATE = { burst: 20, perSecond: 1 / 3 };
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';

export function registerDevice(app: FastifyInstance, deps: ServerDependencies): void {
  const begun = new FailedLogins(deps.clock, BEGIN_RATE);
  const tried = new FailedLogins(deps.clock, CODE_RATE);
  const program = { signsIn: false, refuse: asOAuthError };
  app.post('/auth/device', {
    ...ROUTE,
    handler: signInRoute(deps, {
      ...program,
      work: (exchange) => {
        const wait = begun.failed(exchange.request.ip);
        if (wait > 0) throw tooManyAttempts(wait);
        return begin(exchange);
      },
    }),
  });
  app.post('/auth/device/token', {
    ...ROUTE,
    handler: signInRoute(deps, { ...program, work: poll }),
  });
  app.get('/device', { ...ROUTE, handler: signInRoute(deps, { signsIn: false, work: page }) });
  app.post('/device', {
    ...ROUTE,
    handler: signInRoute(deps, { signsIn: false, work: (exchange) => decide(exchange, tried) }),
  });
}

function begin({ deps, request, reply, facts }: Exchange): FastifyReply {
  const fields = readFields(request);
  const asked: DeviceRequest = {
    source: request.ip,
    client: shownText(fields.get('client') ?? fields.get('client_id')),
    device: shownText(fields.get('device')),
  };
  facts['device'] = asked.device;
  const begun = deps.signIn.programs.devices.begin(asked);
  if (begun === undefined) throw tooManyAttempts(60);
  const { deviceCode, userCode, expiresIn, interval } = begun;
  return json(reply, 200, {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: `${deps.signIn.baseUrl}/device`,
    expires_in: expiresIn,
    interval,
  });
}

async function poll(exchange: Exchange): Promise<FastifyReply> {
  const { deps, request, reply } = exchange;
  const fields = readFields(request);
  if (fields.get('grant_type') !== GRANT_TYPE) {
    throw new SignInError('another type of grant', { reason: 'unsupported_grant_type' });
  }
  const polled = deps.signIn.programs.devices.poll(fields.get('device_code') ?? '');
  // A pending poll is not a refusal.
  if ('error' in polled) return json(reply, 400, polled);
  const sent = await keyAnswer(exchange, polled.grant);
  deps.logger.info({ ...exchange.facts, requestId: request.id }, 'Signed in');
  return sent;
}

/** Links have no code in them: opening a link from an attacker must not be half of an approval. */
async function page(exchange: Exchange): Promise<FastifyReply> {
  const { deps, request, facts } = exchange;
  const session = browserSession(deps, request);
  if (session === undefined) return loginFirst(exchange);
  facts['user'] = session.user.name;
  return await codePage(exchange, { session });
}

async function confirmPage(
  exchange: Exchange,
  of: {
    readonly session: BrowserSession;
    readonly code: string;
    readonly asked: DeviceRequest;
  },
): Promise<FastifyReply> {
  const { session, code, asked } = of;
  return await sendPage(exchange, {
    title: 'Let this program sign in?',
    body: confirmBody({
      user: session.user.name,
      facts: [
        ['Computer', asked.device],
        ['Program', asked.client],
        ['Asked from', asked.source],
        ['Code', shownCode(code)],
      ],
      warning:
        'Agree only if you have just begun this yourself and the code is the one that your program shows.',
      action: '/device',
      fields: { user_code: code },
      csrf: csrfField(session),
    }),
  });
}

async function codePage(
  exchange: Exchange,
  { session, problem }: { readonly session: BrowserSession; readonly problem?: string },
): Promise<FastifyReply> {
  const notice = problem === undefined ? undefined : ({ tone: 'alert', text: problem } as const);
  const title = 'Sign in a program';
  return await sendPage(exchange, {
    title: notice === undefined ? title : `Error: ${title}`,
    code: notice === undefined ? 200 : 400,
    body: codeBody({ user: session.user.name, csrf: csrfField(session), notice }),
  });
}

/** First with the typed code, then with the decision on the next page. */
async function decide(exchange: Exchange, tried: FailedLogins): Promise<FastifyReply> {
  const { deps, facts } = exchange;
  const { session, form } = ownForm(exchange);
  const { devices } = deps.signIn.programs;
  const code = form.get('user_code') ?? '';
  facts['user'] = session.user.name;
  // Codes are short enough to be guessed, so failures are rate-limited and tell nothing.
  const wait = tried.wait(session.user.name);
  if (wait > 0) throw tooManyAttempts(wait);
  const asked = devices.requestOf(code);
  if (asked === undefined) {
    tried.failed(session.user.name);
    return await codePage(exchange, { session, problem: NO_SUCH_CODE });
  }
  const decision = form.get('decision');
  if (decision === null) return await confirmPage(exchange, { session, code, asked });
  const { client, device } = asked;
  facts['device'] = device;
  const isAgreed = decision === 'allow';
  if (!isAgreed) facts['declined'] = 'true';
  const grant = { key: session.key, displayName: `${client} on ${device}` };
  devices.decide(code, isAgreed ? { grant } : 'denied');
  const end = isAgreed
    ? { title: 'The program is signed in', text: 'Go on there. You can close this window.' }
    : { title: 'Nothing was given', text: 'The program is told. You can close this window.' };
  return await sendPage(exchange, { title: end.title, body: messageBody(end) });
}

const NO_SUCH_CODE = 'There is no such code, or it is too old.';

function shownCode(typed: string): string {
  const letters = typed.toUpperCase().replace(/[^A-Z]/g, '');
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}
