/** Pages on which a signed-in person approves a key for a program. */
import { type Html, html } from './html.ts';
import { hidden } from './login-page.ts';
import { type Notice, noticeBox } from './page.ts';

export interface ConfirmPage {
  readonly user: string;
  /** Claims of the program about itself: shown, not trusted. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly warning: string;
  /** Target of the decision, with its form fields. */
  readonly action: string;
  readonly fields: Readonly<Record<string, string | undefined>>;
  readonly csrf: Html;
}

export function confirmBody({ user, facts, warning, action, fields, csrf }: ConfirmPage): Html {
  const rows = [...facts, ['It will act as', user] as const];
  return html`<h1>Let this program sign in?</h1>
<p class="lead">It asks for an access key of yours.</p>
<dl>
${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>\n`)}</dl>
<p id="warning">${warning}</p>
<form method="post" action="${action}">
${csrf}${hidden(fields)}<div class="choices">
<button class="button primary" name="decision" value="allow" aria-describedby="warning">Let it sign in</button>
<button class="button" name="decision" value="deny">Cancel</button>
</div>
</form>`;
}

export function codeBody(of: {
  readonly user: string;
  readonly csrf: Html;
  readonly notice: Notice | undefined;
}): Html {
  return html`<h1>Sign in a program</h1>
<p class="lead">as <strong>${of.user}</strong></p>
${noticeBox(of.notice)}<form method="post" action="/device">
${of.csrf}<div class="field code"><label for="user_code">Code that the program shows</label>
<input id="user_code" name="user_code" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="16" placeholder="BCDF-GHJK" aria-describedby="code-hint" required>
<p class="hint" id="code-hint">Eight letters. Do not use a code that another person sent you.</p></div>
<button class="button primary">Continue</button>
</form>`;
}

/** Final page: the result, and the next step. */
export function messageBody(of: { title: string; text: string; notice?: Notice }): Html {
  return html`<h1>${of.title}</h1>
<p class="lead">${of.text}</p>
${noticeBox(of.notice)}`;
}
