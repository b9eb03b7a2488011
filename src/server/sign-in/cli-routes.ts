/**
 * `/auth/cli`: a program on the computer of the browser asks for a key (RFC 8252). The signed-in person
 * approves, the browser takes a one-time code to the program, and the program exchanges the code.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { isChallenge, SignInError, shownText, tooManyAttempts } from '../../sign-in/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { browserSession } from './browser.ts';
import { confirmBody, messageBody } from './confirm-page.ts';
import { type Exchange, limitSlowBody, signInRoute } from './exchange.ts';
import { readFields } from './forms.ts';
import { sendPage } from './html-response.ts';
import { asOAuthError, csrfField, keyAnswer, ownForm } from './key-approval.ts';
import { loginFirst } from './login-route.ts';

const MOST_BYTES = 16 * 1024;
const ROUTE = { config: { ownAccess: true }, bodyLimit: MOST_BYTES, onRequest: limitSlowBody };

export function registerCli(app: FastifyInstance, deps: ServerDependencies): void {
  app.get('/auth/cli', { ...ROUTE, handler: signInRoute(deps, { signsIn: false, work: ask }) });
  app.post('/auth/cli', { ...ROUTE, handler: signInRoute(deps, { signsIn: false, work: decide }) });
  app.post('/auth/cli/token', {
    ...ROUTE,
    handler: signInRoute(deps, { signsIn: true, refuse: asOAuthError, work: redeem }),
  });
  for (const [end, { title, text }] of Object.entries(ENDS)) {
    const work = (exchange: Exchange): Promise<FastifyReply> =>
      sendPage(exchange, { title, body: messageBody({ title, text }) });
    app.get(`/auth/cli/${end}`, { ...ROUTE, handler: signInRoute(deps, { signsIn: false, work }) });
  }
}

const ENDS = {
  done: { title: 'The program is signed in', text: 'You can close this window and go on there.' },
  declined: {
    title: 'Nothing was given',
    text: 'The program was told. You can close this window.',
  },
  failed: {
    title: 'The program got no key',
    text: 'It says why. You can close this window and begin again there.',
  },
};

interface CliRequest {
  readonly redirectUri: string;
  readonly state: string;
  readonly challenge: string;
  readonly device: string;
  readonly client: string;
}

async function ask(exchange: Exchange): Promise<FastifyReply> {
  const { deps, request, facts } = exchange;
  const wanted = cliRequest(new URLSearchParams(request.url.split('?')[1]));
  const session = browserSession(deps, request);
  if (session === undefined) return loginFirst(exchange);
  facts['user'] = session.user.name;
  const { redirectUri, state, challenge, device, client } = wanted;
  return await sendPage(exchange, {
    title: 'Let this program sign in?',
    body: confirmBody({
      user: session.user.name,
      facts: [
        ['Computer', device],
        ['Program', client],
        ['Where', `this computer, port ${new URL(redirectUri).port}`],
      ],
      warning: 'Agree only if you have just begun this yourself, on this computer.',
      action: '/auth/cli',
      fields: {
        redirect_uri: redirectUri,
        state,
        code_challenge: challenge,
        code_challenge_method: 'S256',
        device,
        client,
      },
      csrf: csrfField(session),
    }),
    formTargets: [new URL(redirectUri).origin],
  });
}

async function decide(exchange: Exchange): Promise<FastifyReply> {
  const { deps, reply, facts } = exchange;
  const { session, form } = ownForm(exchange);
  const { redirectUri, state, challenge, device, client } = cliRequest(form);
  facts['user'] = session.user.name;
  facts['device'] = device;
  const back = new URL(redirectUri);
  back.searchParams.set('state', state);
  if (form.get('decision') === 'allow') {
    const agreed = { key: session.key, displayName: `${client} on ${device}`, redirectUri };
    const code = deps.signIn.programs.codes.issue(agreed, { user: session.user.name, challenge });
    if (code === undefined) throw tooManyAttempts(60, 'too many programs are signing in');
    back.searchParams.set('code', code);
  } else {
    facts['declined'] = 'true';
    back.searchParams.set('error', 'access_denied');
  }
  return reply.redirect(back.href, 303);
}

async function redeem(exchange: Exchange): Promise<FastifyReply> {
  const { deps, request } = exchange;
  const fields = readFields(request);
  const [code = '', verifier = ''] = [fields.get('code'), fields.get('code_verifier')];
  const agreed = deps.signIn.programs.codes.redeem(code, verifier);
  if (agreed === undefined || agreed.redirectUri !== fields.get('redirect_uri')) {
    throw new SignInError('the code is unknown, used, too old, or of another program', {
      reason: 'invalid_grant',
    });
  }
  return await keyAnswer(exchange, agreed);
}

/** Throws SignInError: an invalid request redirects nowhere. */
function cliRequest(fields: URLSearchParams): CliRequest {
  const text = (name: string): string => fields.get(name) ?? '';
  const [redirectUri, state, challenge] = [
    text('redirect_uri'),
    text('state'),
    text('code_challenge'),
  ];
  const isRight =
    isLoopback(redirectUri) &&
    /^[\w-]{16,128}$/.test(state) &&
    isChallenge(challenge) &&
    text('code_challenge_method') === 'S256';
  if (!isRight) {
    throw new SignInError('the request of the program is not valid', {
      reason: 'bad-cli-request',
      shown: 'No program of this computer asked like this. Begin again there.',
    });
  }
  const [device, client] = [shownText(text('device')), shownText(text('client'))];
  return { redirectUri, state, challenge, device, client };
}

/** Loopback by address, because a host name could resolve anywhere (RFC 8252, section 8.3). */
function isLoopback(text: string): boolean {
  const port = Number(/^http:\/\/127\.0\.0\.1:([1-9]\d{0,4})\/callback$/.exec(text)?.[1]);
  return port >= 1024 && port <= 65_535;
}
