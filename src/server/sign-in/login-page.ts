/** `/login`: the ways to sign in, or the signed-in person. */
import type { SignInInfo } from '../../config/index.ts';
import { type Html, html } from './html.ts';
import { type Notice, noticeBox } from './page.ts';

export interface LoginPage {
  readonly methods: SignInInfo['methods'];
  /** Path of this host to go to after the sign-in, checked; undefined: none. */
  readonly returnTo: string | undefined;
  readonly notice: Notice | undefined;
  /** Name of the last attempt; undefined: none. */
  readonly username?: string | undefined;
  /** Name of the platform; undefined: it has none. */
  readonly host: string | undefined;
}

export function loginBody(page: LoginPage): Html {
  const { methods, notice, host } = page;
  const { sso, providerE, password } = methods;
  const parts = [
    ...(sso.length > 0 ? [ssoList(page)] : []),
    ...(sso.length > 0 && password.enabled ? [html`<div class="or">or</div>`] : []),
    ...(password.enabled ? [passwordForm(page)] : []),
    ...(providerE.enabled ? [tokenForm(page)] : []),
  ];
  return html`<h1>Sign in</h1>
<p class="lead">${host === undefined ? 'to the platform' : `to ${host}`}</p>
${noticeBox(notice)}${parts.length > 0 ? parts : NO_WAY}`;
}

const NO_WAY = html`<p>No way to sign in with a browser is configured. Access keys work all the same:
use <code>gitplane login --access-key</code>.</p>`;

function ssoList({ methods: { sso, password }, returnTo }: LoginPage): Html {
  const query = returnTo === undefined ? '' : `?${new URLSearchParams({ returnTo })}`;
  // A single way is the primary one.
  const style = sso.length === 1 && !password.enabled ? 'button primary' : 'button';
  return html`<ul class="methods">
${sso.map(
  ({ displayName, loginEndpoint }) =>
    html`<li><a class="${style}" href="${loginEndpoint}${query}">Continue with ${displayName}</a></li>\n`,
)}</ul>
`;
}

function passwordForm({ returnTo, username }: LoginPage): Html {
  const name = username === undefined ? html`` : html` value="${username}"`;
  return html`<form method="post" action="/auth/password/login">
${hidden({ returnTo })}<div class="field"><label for="username">User name</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="256"${name} required></div>
<div class="field"><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required></div>
<button class="button primary">Sign in</button>
</form>
`;
}

function tokenForm({ methods, returnTo }: LoginPage): Html {
  const { host } = methods.providerE;
  const isOnly = methods.sso.length === 0 && !methods.password.enabled;
  const form = html`<form method="post" action="/auth/providerE/login">
${hidden({ returnTo })}<div class="field"><label for="token">API token${host === undefined ? '' : ` of ${host}`}</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" maxlength="1024" aria-describedby="token-hint" required>
<p class="hint" id="token-hint">It is checked there once, and not kept.</p></div>
<button class="button${isOnly ? ' primary' : ''}">Sign in with the token</button>
</form>
`;
  if (isOnly) return form;
  return html`<details><summary>Sign in with an API token</summary>
${form}</details>
`;
}

export interface SignedInPage {
  readonly user: string;
  /** Fields of the sign-out form. */
  readonly csrf: Html;
  readonly logoutEndpoint: string;
  readonly baseUrl: string;
  readonly notice: Notice | undefined;
}

export function signedInBody({ user, csrf, logoutEndpoint, baseUrl, notice }: SignedInPage): Html {
  return html`<h1>You are signed in</h1>
<p class="lead">as <strong>${user}</strong></p>
${noticeBox(notice)}<div class="choices"><a class="button primary" href="/console">Open the console</a></div>
<h2>On the command line</h2>
<p>This gets a key for kubectl, and lets you agree to it here:</p>
<pre><code>gitplane login ${baseUrl}
kubectl get teams</code></pre>
<form class="choices" method="post" action="${logoutEndpoint}">
${csrf}<button class="button">Sign out</button>
</form>`;
}

/** Hidden fields of a form, without those that have no value. */
export function hidden(fields: Readonly<Record<string, string | undefined>>): Html {
  const inputs = Object.entries(fields).map(([name, value]) =>
    value === undefined ? html`` : html`<input type="hidden" name="${name}" value="${value}">\n`,
  );
  return html`${inputs}`;
}
