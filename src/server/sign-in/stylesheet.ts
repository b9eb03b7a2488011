/**
 * Style sheet of the pages. Configured colors are registered properties, so that an unsupported color
 * falls back to its default. Text on them is black or white, whichever has the higher contrast: at
 * L* = 49.44 both have 4.6 : 1.
 */

export interface Colors {
  readonly primary: string | undefined;
  readonly accent: string | undefined;
  readonly sidebar: string | undefined;
  readonly logoBackground: string | undefined;
}

/** Colors as custom properties, for light and dark pages. CSS values, checked by the caller. */
export function palette(colors: Colors): string {
  const own = Object.entries(colors)
    .flatMap(([name, value]) => (value === undefined ? [] : [`--${name}:${value};`]))
    .join('');
  return `${PROPERTIES}:root{${own}}${TOKENS}`;
}

/** Style of the sign-in pages. */
export function stylesheet(colors: Colors): string {
  return `${palette(colors)}${SHEET}`;
}

const DEFAULTS: Readonly<Record<keyof Colors, string>> = {
  primary: '#1d4ed8',
  accent: '#60a5fa',
  sidebar: '#10203f',
  logoBackground: 'transparent',
};

const PROPERTIES = Object.entries(DEFAULTS)
  .map(
    ([name, value]) => `@property --${name}{syntax:"<color>";inherits:true;initial-value:${value}}`,
  )
  .join('');

const TOKENS = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f5f7fa, #0d1117);
  --card: light-dark(#ffffff, #161b22);
  --ink: light-dark(#111827, #f0f3f6);
  --muted: light-dark(#4b5563, #b1bac4);
  --line: light-dark(#d5dae1, #3a424c);
  --field: light-dark(#6b7280, #8b949e);
  --alert: light-dark(#b42318, #ffb4ab);
  --alert-page: light-dark(#fef3f2, #3b1613);
  --good: light-dark(#05603a, #7ee2a8);
  --good-page: light-dark(#ecfdf3, #0f2d1c);
  --on-primary: #fff;
  --on-sidebar: #fff;
  --solid: var(--primary);
  --panel: var(--sidebar);
}
@supports (color: lch(from red l c h)) {
  :root {
    --solid: rgb(from var(--primary) r g b / 1);
    --panel: rgb(from var(--sidebar) r g b / 1);
    --on-primary: lch(from var(--primary) calc((49.44 - l) * infinity) 0 0 / 1);
    --on-sidebar: lch(from var(--sidebar) calc((49.44 - l) * infinity) 0 0 / 1);
  }
}
`;

const SHEET = `
*, *::before, *::after { box-sizing: border-box; }
body {
  margin: 0;
  min-height: 100vh;
  display: grid;
  grid-template-rows: auto 1fr auto;
  background: var(--page);
  color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  overflow-wrap: break-word;
}
.brand {
  display: flex;
  align-items: center;
  justify-content: center;
  padding: 1.25rem 1rem;
  background: var(--panel);
  color: var(--on-sidebar);
}
.brand .logo { display: block; max-width: min(16rem, 70vw); max-height: 4rem; }
.brand .backed { background: var(--logoBackground); border-radius: .75rem; padding: .75rem 1rem; }
.brand .mark { display: flex; align-items: center; gap: .75rem; font-size: 1.5rem; font-weight: 600; letter-spacing: -.02em; }
.brand .mark span { min-width: 0; overflow-wrap: anywhere; line-height: 1.2; }
.brand svg { flex: none; width: 2.25rem; height: 2.25rem; }
main { display: grid; align-content: center; justify-items: center; padding: 1.5rem 1rem; }
.card {
  width: 100%;
  max-width: 26rem;
  padding: 2rem;
  background: var(--card);
  border: 1px solid var(--line);
  border-top: 4px solid var(--accent);
  border-radius: .75rem;
  box-shadow: 0 1px 2px rgb(0 0 0 / .06), 0 8px 24px rgb(0 0 0 / .06);
}
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; letter-spacing: -.01em; }
h2 { font-size: 1rem; }
h3 { font-size: .9375rem; margin: 1em 0 .25em; }
p { margin: .5rem 0; }
.lead { color: var(--muted); margin: .25rem 0 1.5rem; }
.notice { margin: 0 0 1.25rem; padding: .75rem 1rem; border: 1px solid currentColor; border-radius: .5rem; font-size: .9375rem; }
.notice.alert { color: var(--alert); background: var(--alert-page); }
.notice.good { color: var(--good); background: var(--good-page); }
.methods { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem; }
.button {
  display: flex;
  align-items: center;
  justify-content: center;
  width: 100%;
  min-height: 2.75rem;
  padding: .5rem 1rem;
  border: 1px solid var(--field);
  border-radius: .5rem;
  background: var(--card);
  color: var(--ink);
  font: inherit;
  font-weight: 600;
  text-align: center;
  text-decoration: none;
  cursor: pointer;
}
.button:hover { border-color: var(--ink); box-shadow: 0 0 0 1px var(--ink); }
.button.primary { background: var(--solid); border-color: var(--solid); color: var(--on-primary); }
.button.primary:hover { box-shadow: 0 0 0 2px var(--card), 0 0 0 4px var(--solid); }
:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px; box-shadow: 0 0 0 2px var(--card); border-radius: .5rem; }
.or { display: flex; align-items: center; gap: .75rem; margin: 1.5rem 0; color: var(--muted); font-size: .875rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
.field { margin: 0 0 1rem; }
label { display: block; margin: 0 0 .25rem; font-size: .9375rem; font-weight: 600; }
input {
  width: 100%;
  min-height: 2.75rem;
  padding: .5rem .75rem;
  border: 1px solid var(--field);
  border-radius: .5rem;
  background: var(--card);
  color: var(--ink);
  font: inherit;
}
.hint { color: var(--muted); font-size: .875rem; }
.code input { font: 600 1.25rem/1.5 ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; letter-spacing: .12em; text-transform: uppercase; text-align: center; }
details { margin-top: 1.5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
summary { cursor: pointer; font-weight: 600; min-height: 1.75rem; }
details form { margin-top: 1rem; }
dl { margin: 1.25rem 0; display: grid; grid-template-columns: auto 1fr; gap: .5rem 1rem; }
dt { color: var(--muted); }
dd { margin: 0; font-weight: 600; min-width: 0; }
.choices { display: grid; gap: .75rem; margin-top: 1.5rem; }
code, .usercode { font-family: ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; }
pre { margin: .75rem 0; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: .5rem; white-space: pre-wrap; background: var(--page); font-size: .875rem; }
a { color: inherit; text-decoration-color: var(--accent); text-decoration-thickness: 2px; text-underline-offset: .2em; }
footer { padding: 1rem; color: var(--muted); font-size: .875rem; }
.legal { max-width: 40rem; margin: 0 auto; }
.legal > h2 { font-size: .875rem; margin: 0; color: var(--ink); }
@media (min-width: 60rem) {
  body { grid-template: 1fr auto / minmax(18rem, 2fr) 3fr; }
  .brand { grid-row: 1 / -1; }
  .brand .logo { max-height: 10rem; max-width: 100%; }
  .brand { padding: 3rem 2.5rem; }
  .brand .mark { font-size: clamp(1.375rem, 2.25vw, 2rem); }
  .brand svg { width: 3rem; height: 3rem; }
  footer { padding: 1.5rem; }
}
@media (prefers-reduced-motion: no-preference) {
  .button { transition: box-shadow .12s, border-color .12s; }
}
@media (forced-colors: active) {
  .button { border-width: 2px; }
}
`;
