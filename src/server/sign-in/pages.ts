/** Self-submitting forms to a provider. They are visible only for a moment, so they have no theme. */
import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { ProviderRedirect } from '../../sign-in/index.ts';
import { STRICT_CSP } from './headers.ts';
import { escaped } from './html.ts';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}';
const SUBMIT = 'document.forms[0].submit()';

/** A form that the browser posts to the provider. */
export function postingPage({ url, fields }: Extract<ProviderRedirect, { kind: 'post' }>): string {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  );
  return page(
    'Sign in',
    `<form method="post" action="${escaped(url)}">
${inputs.join('\n')}
<button type="submit">Go on to sign in</button>
</form>
<script>${SUBMIT}</script>`,
  );
}

export function sendPage(
  reply: FastifyReply,
  of: { readonly code: number; readonly html: string; readonly csp: string },
): FastifyReply {
  // A configured policy stays.
  if (reply.getHeader(CSP) === STRICT_CSP) void reply.header(CSP, of.csp);
  return reply.code(of.code).header('content-type', 'text/html; charset=utf-8').send(of.html);
}

const CSP = 'content-security-policy';

const digest = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const COMMON_CSP = `default-src 'none'; style-src ${digest(STYLE)}; base-uri 'none'; frame-ancestors 'none'`;

/** Browsers follow redirects of a form only to hosts in the policy, so all are allowed. */
export const POSTING_CSP = `${COMMON_CSP}; script-src ${digest(SUBMIT)}; form-action https: http:`;

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`;
}
