/**
 * Theme of the pages (`uiSettings`, spec section 2.8.10). The configuration was validated before; it is
 * checked again here, because a page that asks for passwords must not depend on a single check. Invalid
 * parts are left out.
 */
import { createHash } from 'node:crypto';
import type { UISettingsConfig } from '../../config/index.ts';
import { isColor, isImage, isPageUrl } from '../../kinds/index.ts';
import { externalUrls, isOwn, sourceOf } from './external-urls.ts';
import type { Html } from './html.ts';
import { legalText } from './legal-text.ts';
import { stylesheet } from './stylesheet.ts';

export interface UiTheme {
  /** Absent: the gitplane logo. */
  readonly logo: string | undefined;
  /** For narrow windows; absent: the same as `logo`. */
  readonly smallLogo: string | undefined;
  readonly hasLogoBackground: boolean;
  readonly favicon: string;
  readonly legal: Html | undefined;
  readonly style: string;
  readonly customCss: readonly string[];
  readonly customJavaScript: readonly string[];
  /** Value of Content-Security-Policy. */
  policy(of: PolicyNeeds): string;
}

export interface PolicyNeeds {
  /** True if the page loads `customJavaScript`. */
  readonly scripts: boolean;
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
  const style = stylesheet({
    primary: color(settings.primaryColor),
    accent: color(settings.accentColor),
    sidebar: color(settings.sidebarColor),
    logoBackground: color(settings.logoBackgroundColor),
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
  const images = [logo, smallLogo, favicon].flatMap((url) => url ?? []);
  return {
    logo: logo ?? smallLogo,
    smallLogo,
    hasLogoBackground: color(settings.logoBackgroundColor) !== undefined,
    favicon,
    legal: settings.legalTemplate ? await legalText(settings.legalTemplate) : undefined,
    style,
    customCss,
    customJavaScript,
    policy: policyOf({ style, images, customCss, customJavaScript, others: external.sources }),
  };
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
  return ({ scripts, formTargets = [] }) => {
    const hasScripts = scripts && customJavaScript.length > 0;
    const directives: [string, readonly string[]][] = [
      ['default-src', ["'none'"]],
      ['style-src', [`'sha256-${hash}'`, ...customCss.map(sourceOf)]],
      ['img-src', ['data:', ...any, ...named]],
      ...(customCss.length > 0 ? [['font-src', any] as [string, string[]]] : []),
      ...(hasScripts
        ? ([
            ['script-src', customJavaScript.map(sourceOf)],
            ['connect-src', any],
          ] as [string, string[]][])
        : []),
      ['form-action', ["'self'", ...formTargets]],
      ['base-uri', ["'none'"]],
      ['frame-ancestors', ["'none'"]],
    ];
    return directives
      .map(([name, sources]) => `${name} ${[...new Set(sources)].join(' ')}`)
      .join('; ');
  };
}
