/**
 * External resources of the pages (`uiSettings.externalURLs`), as sources of a content security policy.
 * The same check decides which URLs a page may contain, so that the browser is never asked for a URL that
 * its policy forbids.
 */
import type { UISettingsConfig } from '../../config/index.ts';

export interface ExternalUrls {
  /** Sources of everything else; `https:` when nothing is blocked. */
  readonly sources: readonly string[];
  mayLoad(url: string): boolean;
}

export function externalUrls(settings: UISettingsConfig['externalURLs']): ExternalUrls {
  if (settings?.block !== true) return { sources: ['https:'], mayLoad: () => true };
  // Module names refer to parts of other user interfaces.
  const allowed = (settings.allow ?? []).flatMap((text) => allowedUrl(text) ?? []);
  return {
    sources: allowed.map(({ source }) => source),
    mayLoad: (url) => isOwn(url) || allowed.some((one) => one.matches(new URL(url))),
  };
}

/** A path of this host, or a data URL. */
export function isOwn(url: string): boolean {
  return url.startsWith('/') || url.startsWith('data:');
}

/** A URL as a source expression: without query, fragment, or anything that ends the expression. */
export function sourceOf(url: string): string {
  if (isOwn(url)) return "'self'";
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/[;,]/g, encodeURIComponent)}`;
}

interface AllowedUrl {
  readonly source: string;
  matches(url: URL): boolean;
}

/** `https://*.example.com` stands for every host below example.com. */
function allowedUrl(text: string): AllowedUrl | undefined {
  const [, scheme = '', any = '', rest = ''] = /^(https?:\/\/)(\*\.)?(.*)$/i.exec(text) ?? [];
  const address = `${scheme}${rest}`;
  if (!URL.canParse(address)) return undefined;
  const { protocol, hostname, port, pathname } = new URL(address);
  const source = sourceOf(address).replace('://', `://${any}`);
  return {
    // As a source, the path `/` would match only itself.
    source: pathname === '/' ? source.slice(0, -1) : source,
    matches: (url) =>
      (url.protocol === protocol || (protocol === 'http:' && url.protocol === 'https:')) &&
      (any === '' ? url.hostname === hostname : url.hostname.endsWith(`.${hostname}`)) &&
      url.port === port &&
      (pathname.endsWith('/') ? url.pathname.startsWith(pathname) : url.pathname === pathname),
  };
}
