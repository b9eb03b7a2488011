/** The few pages that the provider renders itself. They repeat nothing of a request. */

/** Policy for pages without scripts; form targets are not limited, because they redirect. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

/** `reference`: id of the request in log and audit. */
export function errorPage(error: string, reference: string): string {
  const why = EXPLANATIONS[error] ?? 'The request could not be answered.';
  return page(
    'Signing in did not work',
    `<p>${why}</p><p>Go back to the application and begin again. If that does not help, tell its operator this number: <code>${escapeHtml(reference)}</code></p>`,
  );
}

export function logoutPage(form: string): string {
  return page(
    'Sign out?',
    `${form}
<p>You will be signed out here, and of this browser's session with the platform.</p>
<p><button autofocus type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>
<button type="submit" form="op.logoutForm">Stay signed in</button></p>`,
  );
}

export function signedOutPage(): string {
  return page('Signed out', '<p>You are signed out. You can close this window.</p>');
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  invalid_client: 'The application is not known here.',
  invalid_redirect_uri: 'The application asked to send you back to an address that is not its own.',
  access_denied: 'You may not sign in to this application.',
  server_error: 'Something went wrong here.',
  invalid_request: 'The request is not valid, or it took too long.',
};

function page(title: string, body: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>body{font-family:system-ui,sans-serif;max-width:32rem;margin:4rem auto;padding:0 1rem;line-height:1.5}button{font:inherit;padding:.5rem 1rem}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
