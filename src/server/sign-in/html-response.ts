/** Responses with a page, in the configured theme and with its content security policy. */
import type { FastifyReply } from 'fastify';
import type { UISettingsConfig } from '../../config/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { type PageContent, renderPage } from './page.ts';
import { type UiTheme, uiThemeOf } from './ui-theme.ts';

const NO_SETTINGS: UISettingsConfig = {};
/** Computed once per configuration, which is immutable. */
const themes = new WeakMap<UISettingsConfig, Promise<UiTheme>>();

/** Theme of the configuration in force. */
export function currentTheme({ config }: Pick<ServerDependencies, 'config'>): Promise<UiTheme> {
  const settings = config.current.uiSettings ?? NO_SETTINGS;
  const look = themes.get(settings) ?? uiThemeOf(settings);
  themes.set(settings, look);
  return look;
}

export interface PageResponse extends Omit<PageContent, 'name'> {
  readonly code?: number;
  /** Form targets beside this host, redirects included. */
  readonly formTargets?: readonly string[];
}

/** Context of a response with a page. */
interface PageContext {
  readonly deps: Pick<ServerDependencies, 'config'>;
  readonly reply: FastifyReply;
}

export async function sendPage(
  { deps, reply }: PageContext,
  page: PageResponse,
): Promise<FastifyReply> {
  const { auth, platformHost: name } = deps.config.current;
  const look = await currentTheme(deps);
  const { code = 200, formTargets = [], isSignIn = false } = page;
  // A configured policy replaces this one, as for all responses.
  if (!hasOwnPolicy(auth.customHttpHeaders)) {
    const policy = look.policy({ scripts: isSignIn, formTargets });
    void reply.header('content-security-policy', policy);
  }
  const text = renderPage(look, { ...page, name });
  return reply.code(code).header('content-type', 'text/html; charset=utf-8').send(text);
}

function hasOwnPolicy(headers: Readonly<Record<string, string>> = {}): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'content-security-policy');
}
