/** What the look of the pages may do to them: nothing but look. The browser is asked in test/e2e. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { html } from '../../../src/server/sign-in/html.ts';
import { renderPage } from '../../../src/server/sign-in/page.ts';
import { uiThemeOf } from '../../../src/server/sign-in/ui-theme.ts';

async function page(settings: Parameters<typeof uiThemeOf>[0]): Promise<string> {
  const look = await uiThemeOf(settings);
  return renderPage(look, { title: 'Sign in', body: html`<h1>Sign in</h1>`, isSignIn: true });
}

async function policy(settings: Parameters<typeof uiThemeOf>[0]): Promise<Record<string, string>> {
  const text = (await uiThemeOf(settings)).policy({ scripts: true });
  return Object.fromEntries(text.split('; ').map((part) => part.split(/ (.*)/, 2)));
}

test.each([
  ['<b>', '&lt;b&gt;'],
  ['"x\'&', '&quot;x&#39;&amp;'],
  ['</title><script>', '&lt;/title&gt;&lt;script&gt;'],
])('text is put into pages as text: %s', (text, expected) => {
  expect(html`<p title="${text}">${text}</p>`.html).toBe(`<p title="${expected}">${expected}</p>`);
});

test('templates are plain ASCII, as the bundle needs it', () => {
  const folder = join(import.meta.dirname, '../../../src/server/sign-in');
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  expect(texts.filter((text) => text.includes('html`') && /[^\n -~]/.test(text))).toEqual([]);
});

describe('values that should never have passed validation', () => {
  test.each([
    ['red;} body{display:none'],
    ['red}</style><script>alert(1)</script>'],
    ['url(https://evil.example)'],
    ['expression(alert(1))'],
    ['var(--x);background:url(//evil.example)'],
  ])('values that are not colors are left out: %s', async (value) => {
    const plain = await uiThemeOf({});
    const { style } = await uiThemeOf({
      primaryColor: value,
      accentColor: value,
      sidebarColor: value,
      logoBackgroundColor: value,
    });
    expect(style).toBe(plain.style);
  });

  test.each([
    ['javascript:alert(1)'],
    ['  javascript:alert(1)'],
    ['data:text/html,<script>alert(1)</script>'],
    ['//evil.example/x'],
    ['/\\evil.example/x'],
    ['https://user:password@evil.example/x'],
    ['x" onerror="alert(1)'],
  ])('values that are not URLs are left out: %s', async (url) => {
    const settings = {
      logoURL: url,
      smallLogoURL: url,
      faviconURL: url,
      customCss: [url],
      customJavaScript: [url],
    };
    expect(await page(settings)).toBe(await page({}));
    expect(await policy(settings)).toEqual(await policy({}));
  });

  test('a URL cannot add to the policy', async () => {
    const url = "https://a.example/x;script-src 'unsafe-inline',y?q=1#f";
    const directives = await policy({ customCss: [url], customJavaScript: [url] });
    const source = "https://a.example/x%3Bscript-src%20'unsafe-inline'%2Cy";
    expect(directives['script-src']).toBe(source);
    expect(directives['style-src']?.split(' ')[1]).toBe(source);
  });
});

// covers: uiSettings.legalTemplate
describe('legal text', () => {
  test.each([
    [
      '<p>By the <a href="https://a.example/t">terms</a></p>',
      'href="https://a.example/t" rel="noopener noreferrer"',
    ],
    ['<h1>Terms</h1>', '<h3>Terms</h3>'],
    ['5 &lt; 6', '5 &lt; 6'],
  ])('stays: %s', async (legalTemplate, expected) => {
    expect(await page({ legalTemplate })).toContain(expected);
  });

  test.each([
    ['<script>alert(1)</script>'],
    ['<img src=x onerror=alert(1)>'],
    ['<a href="javascript:alert(1)">x</a>'],
    ['<a href="java&#10;script:alert(1)">x</a>'],
    ['<a href="//evil.example">x</a>'],
    ['<svg onload=alert(1)><a xlink:href="javascript:alert(1)">x</a></svg>'],
    ['<form action="https://evil.example"><input name=password></form>'],
    ['<iframe srcdoc="<script>alert(1)</script>"></iframe>'],
    ['<style>body{display:none}</style>'],
    ['<p style="position:fixed" class="card" id="username">x</p>'],
    ['<base href="https://evil.example/">'],
    ['<meta http-equiv="refresh" content="0;url=https://evil.example">'],
    ['<link rel="stylesheet" href="https://evil.example">'],
    ['<math><mtext></p><style><img src=x onerror=alert(1)></style></mtext></math>'],
    ['</section></footer><form action="https://evil.example">'],
    ['<!--><script>alert(1)</script>-->'],
  ])('loses active content: %s', async (legalTemplate) => {
    const text = (await uiThemeOf({ legalTemplate })).legal?.html ?? '';
    expect(text).not.toMatch(
      /<(script|img|svg|form|input|iframe|style|base|meta|link|math|\/?section|\/?footer)/i,
    );
    expect(text).not.toMatch(/<[^>]*(javascript:|onerror|onload|style=|class=|id=|evil)/i);
  });

  test('legal text with deep nesting is cut, and breaks nothing', async () => {
    const { legal } = await uiThemeOf({ legalTemplate: '<blockquote>'.repeat(50_000) });
    expect(legal?.html.length).toBeLessThan(1000);
  });
});

// covers: uiSettings.externalURLs.{block,allow} uiSettings.{logoURL,faviconURL,customCss,customJavaScript}
describe('external URLs', () => {
  const logoURL = 'https://cdn.example.com/logo.png';
  const customCss = ['https://cdn.example.com/a/x.css', '/own.css'];
  const customJavaScript = ['https://js.example.net/x.js'];
  const settings = { logoURL, customCss, customJavaScript };

  test('are loaded from where they are configured, and scripts and styles from nowhere else', async () => {
    const text = await page(settings);
    for (const url of [logoURL, ...customCss, ...customJavaScript]) expect(text).toContain(url);
    const directives = await policy(settings);
    expect(directives).toMatchObject({
      'default-src': "'none'",
      'script-src': 'https://js.example.net/x.js',
      'form-action': "'self'",
      'base-uri': "'none'",
      'frame-ancestors': "'none'",
    });
    expect(directives['style-src']).toMatch(
      /^'sha256-[\w+/]{43}=' https:\/\/cdn\.example\.com\/a\/x\.css 'self'$/,
    );
  });

  test('are neither named nor allowed when they are blocked', async () => {
    const blocked = { ...settings, externalURLs: { block: true } };
    const text = await page(blocked);
    expect(text).toContain('/own.css');
    expect(text).not.toContain('example.com');
    expect(text).not.toContain('example.net');
    expect(JSON.stringify(await policy(blocked))).not.toMatch(/https?:/);
  });

  test.each([
    ['https://cdn.example.com', true],
    ['https://*.example.com', true],
    ['https://cdn.example.com/logo.png', true],
    ['https://cdn.example.com/other.png', false],
    ['https://cdn.example.com:8443', false],
    ['https://example.com', false],
    ['https://*.cdn.example.com', false],
    ['tag-manager', false],
  ])('the logo with %s allowed is shown: %s', async (entry, expected) => {
    const look = { logoURL, externalURLs: { block: true, allow: [entry] } };
    expect((await page(look)).includes(logoURL)).toBe(expected);
    expect((await policy(look))['img-src']).toContain(expected ? 'example.com' : "'self'");
  });

  test('scripts run only with customJavaScript', async () => {
    expect(await policy({})).not.toHaveProperty('script-src');
    expect(await policy({})).not.toHaveProperty('connect-src');
  });
});
