/**
 * Theme of the pages (`uiSettings`, spec section 2.8.10). The configuration was validated before; it is
 * checked again here, because a page that asks for passwords must not depend on a single check. Invalid
 * parts are left out.
 */
import { createHash } from 'node:crypto';
import type { IOptions } from 'sanitize-html';
import type { UISettingsConfig } from '../../config/index.ts';
import { isColor, isImage, isPageUrl } from '../../kinds/index.ts';
import { externalUrls, isOwn, sourceOf } from './external-urls.ts';
import type { Html } from './html.ts';
import { trustedHtml } from './html.ts';
import { palette, stylesheet } from './stylesheet.ts';

const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];

/**
 * No classes, ids or styles, which could imitate the page around it, and no images or frames. The page has
 * a heading above, so all headings move one level down.
 */
const RULES: IOptions = {
  allowedTags: [
    ...['a', 'abbr', 'b', 'blockquote', 'br', 'code', 'em', 'h3', 'hr', 'i', 'li', 'ol', 'p'],
    ...['pre', 's', 'small', 'strong', 'sub', 'sup', 'u', 'ul'],
  ],
  allowedAttributes: {
    a: ['href', 'title', 'rel', 'lang', 'dir'],
    abbr: ['title'],
    p: ['lang', 'dir'],
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowProtocolRelative: false,
  parseStyleAttributes: false,
  nestingLimit: 20,
  transformTags: {
    ...Object.fromEntries(HEADINGS.map((heading) => [heading, 'h3'])),
    div: 'p',
    a: (tagName, attribs) => ({ tagName, attribs: { ...attribs, rel: 'noopener noreferrer' } }),
  },
};

export interface UiTheme {
  /** Absent: the gitplane logo. */
  readonly logo: string | undefined;
  /** For narrow windows; absent: the same as `logo`. */
  readonly smallLogo: string | undefined;
  readonly hasLogoBackground: boolean;
  readonly favicon: string;
  readonly legal: Html | undefined;
  readonly style: string;
  /** The colors alone, as a style sheet. */
  readonly palette: string;
  /** Buttons with links and icons that the pages may have. */
  readonly buttons: readonly NavBarButton[];
  readonly customCss: readonly string[];
  readonly customJavaScript: readonly string[];
  /** Value of Content-Security-Policy. */
  policy(of: PolicyNeeds): string;
}

/** `uiSettings.navBarButtons`. */
export interface NavBarButton {
  readonly position: 'TopStart' | 'TopEnd' | 'BottomStart' | 'BottomEnd';
  readonly text: string;
  readonly link: string;
  readonly icon: string | undefined;
}

export interface PolicyNeeds {
  /** True if the page loads `customJavaScript`. */
  readonly scripts: boolean;
  /** True for the console, whose scripts and styles are files of this host. */
  readonly console?: boolean;
  /** Form targets beside this host, redirects included. */
  readonly formTargets?: readonly string[];
}

const FAVICON = `data:image/svg+xml;base64,${Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1d4ed8"/><g fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round"><path d="M10 11v10M22 15c0 5-12 3-12 7"/><circle cx="10" cy="8" r="3"/><circle cx="10" cy="24" r="3"/><circle cx="22" cy="12" r="3"/></g></svg>',
).toString('base64')}`;

export async function uiThemeOf(settings: UISettingsConfig = {}): Promise<UiTheme> {
  const external = externalUrls(settings.externalURLs);
  const shown = (url: string | undefined, rule: typeof isImage): string | undefined =>
    url && rule(url) === undefined && external.mayLoad(url) ? normal(url) : undefined;
  const loaded = (urls: readonly string[] = []): string[] =>
    urls.flatMap((url) => shown(url, isPageUrl) ?? []);
  const color = (text: string | undefined): string | undefined =>
    text && isColor(text) === undefined ? text : undefined;
  const colors = {
    primary: color(settings.primaryColor),
    accent: color(settings.accentColor),
    sidebar: color(settings.sidebarColor),
    logoBackground: color(settings.logoBackgroundColor),
  };
  const style = stylesheet(colors);
  const buttons = (settings.navBarButtons ?? []).flatMap(({ position, text, link, icon }) => {
    const target = link && isPageUrl(link) === undefined ? link : undefined;
    if (target === undefined) return [];
    return [{ position, text: text || target, link: target, icon: shown(icon, isImage) }];
  });
  const [logo, smallLogo] = [
    shown(settings.logoURL, isImage),
    shown(settings.smallLogoURL, isImage),
  ];
  const favicon = shown(settings.faviconURL, isImage) ?? FAVICON;
  const [customCss, customJavaScript] = [
    loaded(settings.customCss),
    loaded(settings.customJavaScript),
  ];
  const icons = buttons.map(({ icon }) => icon);
  const images = [logo, smallLogo, favicon, ...icons].flatMap((url) => url ?? []);
  return {
    logo: logo ?? smallLogo,
    smallLogo,
    hasLogoBackground: color(settings.logoBackgroundColor) !== undefined,
    favicon,
    legal: settings.legalTemplate ? await legalText(settings.legalTemplate) : undefined,
    style,
    palette: palette(colors),
    buttons,
    customCss,
    customJavaScript,
    policy: policyOf({ style, images, customCss, customJavaScript, others: external.sources }),
  };
}

/** Loads the library with the first text. */
async function legalText(template: string): Promise<Html> {
  const { default: sanitize } = await import('sanitize-html');
  return trustedHtml(sanitize(template, RULES));
}

/** Without white space, which would separate sources. */
function normal(url: string): string {
  return isOwn(url) ? url : new URL(url).href;
}

interface PolicyParts extends Pick<UiTheme, 'style' | 'customCss' | 'customJavaScript'> {
  readonly images: readonly string[];
  readonly others: readonly string[];
}

/** Styles and scripts load only from the configured files. */
function policyOf(parts: PolicyParts): UiTheme['policy'] {
  const { style, images, customCss, customJavaScript, others } = parts;
  const hash = createHash('sha256').update(style).digest('base64');
  const any = ["'self'", ...others];
  const named = images.filter((url) => !isOwn(url)).map(sourceOf);
  return ({ scripts, console: isConsole = false, formTargets = [] }) => {
    const hasScripts = scripts && customJavaScript.length > 0;
    const own = isConsole ? ["'self'"] : [];
    const hasOthers = customCss.length > 0 || hasScripts;
    const directives: [string, readonly string[]][] = [
      ['default-src', ["'none'"]],
      ['style-src', [...(isConsole ? own : [`'sha256-${hash}'`]), ...customCss.map(sourceOf)]],
      ['img-src', ['data:', ...(isConsole && !hasOthers ? own : any), ...named]],
      ...directive('font-src', customCss.length > 0 ? any : []),
      ...directive('script-src', [...own, ...(hasScripts ? customJavaScript.map(sourceOf) : [])]),
      ...directive('connect-src', hasScripts ? any : own),
      ['form-action', ["'self'", ...formTargets]],
      ['base-uri', ["'none'"]],
      ['frame-ancestors', ["'none'"]],
    ];
    return directives
      .map(([name, sources]) => `${name} ${[...new Set(sources)].join(' ')}`)
      .join('; ');
  };
}

/** Absent directives fall back to `default-src`. */
function directive(name: string, sources: readonly string[]): [string, readonly string[]][] {
  return sources.length === 0 ? [] : [[name, sources]];
}
