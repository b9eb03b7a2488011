/** Frame of all sign-in pages: head, brand, one card, legal text. No page needs JavaScript. */
import { type Html, html, trustedHtml } from './html.ts';
import type { UiTheme } from './ui-theme.ts';

export interface PageContent {
  readonly title: string;
  readonly body: Html;
  /** Name of the platform, when no logo shows it. */
  readonly name?: string | undefined;
  /** Adds legal text and scripts of the operator: for sign-in pages, not for approvals. */
  readonly isSignIn?: boolean;
}

export function renderPage(look: UiTheme, content: PageContent): string {
  const { title, body, isSignIn = false, name = 'gitplane' } = content;
  const scripts = isSignIn ? look.customJavaScript : [];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} &middot; ${name}</title>
<link rel="icon" href="${look.favicon}">
<style>${trustedHtml(look.style)}</style>
${look.customCss.map((url) => html`<link rel="stylesheet" href="${url}">\n`)}${scripts.map((url) => html`<script src="${url}" defer></script>\n`)}</head>
<body>
<header class="brand">${brand(look, name)}</header>
<main><div class="card">
${body}
</div></main>
<footer>${isSignIn && look.legal !== undefined ? legal(look.legal) : undefined}</footer>
</body>
</html>
`.html;
}

function brand({ logo, smallLogo, hasLogoBackground }: UiTheme, name: string): Html {
  if (logo === undefined)
    return html`<div class="mark">${MARK}<span>${breakable(name)}</span></div>`;
  const image = html`<img class="logo${hasLogoBackground ? ' backed' : ''}" src="${logo}" alt="${name}">`;
  if (smallLogo === undefined || smallLogo === logo) return image;
  return html`<picture><source media="(max-width: 59.99rem)" srcset="${smallLogo}">${image}</picture>`;
}

function legal(text: Html): Html {
  return html`<section class="legal" aria-labelledby="legal"><h2 id="legal">Legal notice</h2>
${text}</section>`;
}

/** Two commits, and one that branched off. */
const MARK = trustedHtml(
  '<svg viewBox="0 0 32 32" aria-hidden="true" focusable="false"><g fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round"><path d="M10 11v10M22 15c0 5-12 3-12 7"/><circle cx="10" cy="7.5" r="3.5"/><circle cx="10" cy="24.5" r="3.5"/><circle cx="22" cy="11.5" r="3.5"/></g></svg>',
);

export interface Notice {
  readonly tone: 'alert' | 'good';
  readonly text: string;
}

/** Announced by screen readers when the page opens. */
export function noticeBox(notice: Notice | undefined): Html {
  if (notice === undefined) return html``;
  const role = notice.tone === 'alert' ? 'alert' : 'status';
  return html`<p class="notice ${notice.tone}" role="${role}">${notice.text}</p>\n`;
}

/** A long host name ends a line behind a dot, and not inside a word. */
function breakable(name: string): Html {
  const [first = '', ...rest] = name.split('.');
  return html`${first}${rest.map((part) => html`.<wbr>${part}`)}`;
}
