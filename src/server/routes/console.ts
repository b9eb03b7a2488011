/**
 * `/console`: the pages for browsers. The page itself is empty but for the session of the browser; its
 * script reads the API. Files have the hash of their content in their name. A browser at `/` is
 * redirected here; other clients get the answer of the API.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { memoize, type User } from '../../apimachinery/index.ts';
import { type ConsoleAssets, type Encoding, readConsoleAssets } from '../../console/index.ts';
import { csrfToken, safeReturnTo } from '../../sign-in/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { secureHeaders } from '../filters/hardening.ts';
import { CONSOLE_PATH } from '../paths.ts';
import { browserSession } from '../sign-in/browser.ts';
import { html } from '../sign-in/html.ts';
import { currentTheme } from '../sign-in/html-response.ts';
import { LOGIN_PAGE } from '../sign-in/login-route.ts';
import type { UiTheme } from '../sign-in/ui-theme.ts';

const FOREVER = 'public, max-age=31536000, immutable';
const ASSETS = `${CONSOLE_PATH}/assets`;
const THEME = `${CONSOLE_PATH}/theme.css`;

/** Adds a hook, so that it must be called before the hook of access control is added. */
export function redirectBrowsers(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const [path = '', query] = request.url.split('?', 2);
    const isRoot = path === '/' && isBrowser(request);
    if (request.method !== 'GET' || !(isRoot || path === `${CONSOLE_PATH}/`)) return done();
    const target = query === undefined ? CONSOLE_PATH : `${CONSOLE_PATH}?${query}`;
    // `/` has other answers for other clients.
    void reply.header('vary', 'Accept').header('cache-control', 'no-store').redirect(target, 302);
  });
}

/** Browsers name the type when a person opens a page; programs do not. */
function isBrowser({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true;
}

export function registerConsole(app: FastifyInstance, deps: ServerDependencies): void {
  const config = { ownAccess: true };
  app.get(`${ASSETS}/:name`, { config }, (request, reply) => sendAsset(built(), request, reply));
  app.get(THEME, { config }, (_request, reply) => sendTheme(deps, reply));
  for (const path of [CONSOLE_PATH, `${CONSOLE_PATH}/*`]) {
    app.get(path, { config }, (request, reply) => sendConsole({ deps, request, reply }));
  }
}

let assets: ConsoleAssets | undefined;

/** Files of this build, read once. */
function built(): ConsoleAssets {
  assets ??= readConsoleAssets();
  return assets;
}

/**
 * Answers a URL with a broken percent encoding, which no route gets. The console says so on a page; other
 * paths get 400.
 */
export function answerBadUrl(
  deps: ServerDependencies,
): (error: Error, request: FastifyRequest, reply: FastifyReply) => void {
  return (error, request, reply) => {
    if (request.method !== 'GET' || !request.url.startsWith(`${CONSOLE_PATH}/`)) {
      const { message } = error;
      const body = { error: 'Bad Request', code: 'FST_ERR_BAD_URL', message, statusCode: 400 };
      void reply.code(400).type('application/json').send(JSON.stringify(body));
      return;
    }
    secureHeaders(reply.raw);
    sendConsole({ deps, request, reply }).catch((problem: unknown) => void reply.send(problem));
  };
}

function sendAsset(
  assets: ConsoleAssets,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { name = '' } = request.params as { name?: string };
  const asset = assets.find(name);
  if (asset === undefined) return notFound(reply);
  const encoding = encodingOf(request.headers['accept-encoding']);
  if (encoding !== 'identity') void reply.header('content-encoding', encoding);
  return reply
    .header('content-type', asset.contentType)
    .header('cache-control', FOREVER)
    .header('vary', 'Accept-Encoding')
    .send(asset.body(encoding));
}

const ENCODINGS = ['br', 'gzip'] as const;

function encodingOf(accepted: string | string[] | undefined): Encoding {
  const named = String(accepted ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => !/;\s*q=0(\.0*)?$/.test(part))
    .map((part) => part.split(';')[0]);
  return ENCODINGS.find((encoding) => named.includes(encoding)) ?? 'identity';
}

function notFound(reply: FastifyReply): FastifyReply {
  void reply.header('cache-control', 'no-store').header('content-type', 'text/plain');
  return reply.code(404).send('404 page not found\n');
}

/** The URL has the hash of the colors. A request for former colors gets the present ones. */
async function sendTheme(
  deps: Pick<ServerDependencies, 'config'>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { palette } = await currentTheme(deps);
  return reply
    .header('content-type', 'text/css; charset=utf-8')
    .header('cache-control', 'no-cache')
    .header('etag', `"${hashOf(palette)}"`)
    .send(palette);
}

const hashOf = memoize(16, (text: string) =>
  createHash('sha256').update(text).digest('base64url').slice(0, 16),
);

async function sendConsole(of: {
  readonly deps: ServerDependencies;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}): Promise<FastifyReply> {
  const { deps, request, reply } = of;
  const { entry } = built();
  if (entry === undefined) return notFound(reply);
  const session = browserSession(deps, request);
  if (session === undefined) {
    const returnTo = safeReturnTo(request.url);
    void reply.header('cache-control', 'no-store');
    return reply.redirect(`${LOGIN_PAGE}?${new URLSearchParams({ returnTo })}`, 303);
  }
  const theme = await currentTheme(deps);
  return reply
    .headers({
      'cache-control': 'no-store',
      'content-security-policy': theme.policy({ scripts: true, console: true }),
      'content-type': 'text/html; charset=utf-8',
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'same-origin',
      'x-frame-options': 'DENY',
    })
    .send(page(theme, entry, pageData(deps, theme, session)));
}

/** Facts for the script of the page. Nothing in it gives access: the session stays in its cookie. */
function pageData(
  deps: ServerDependencies,
  theme: UiTheme,
  { user, key }: { readonly user: User; readonly key: string },
): object {
  const { config, kinds, root, version } = deps;
  const { logo, smallLogo, hasLogoBackground, buttons } = theme;
  return {
    user: user.name,
    groups: user.groups,
    csrfToken: csrfToken(key),
    root,
    group: kinds.groups[0],
    version,
    platform: config.current.platformHost ?? 'gitplane',
    costs: config.current.costControl?.enabled === true,
    theme: { logo, smallLogo, hasLogoBackground, buttons },
  };
}

function page(
  theme: UiTheme,
  entry: { readonly script: string; readonly style: string },
  data: object,
): string {
  const { customCss, customJavaScript, favicon, legal, palette } = theme;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="gitplane-console" content="${JSON.stringify(data)}">
<title>gitplane</title>
<link rel="icon" href="${favicon}">
<link rel="stylesheet" href="${THEME}?${hashOf(palette)}">
<link rel="stylesheet" href="${ASSETS}/${entry.style}">
${customCss.map((url) => html`<link rel="stylesheet" href="${url}">\n`)}<script type="module" src="${ASSETS}/${entry.script}"></script>
${customJavaScript.map((url) => html`<script src="${url}" defer></script>\n`)}</head>
<body>
<div id="console"><noscript><p>The console needs JavaScript. The API and kubectl work without it.</p></noscript></div>
${legal === undefined ? undefined : html`<template id="legal">${legal}</template>\n`}</body>
</html>
`.html;
}
