/** The configuration as user interfaces and agents read it. Access was decided before. */
import { platformSettings, signInInfo, uiSettings } from '../../config/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { type Answer, jsonAnswer } from '../output/answer.ts';
import { AUTH_INFO_PATH, PLATFORM_SETTINGS_PATH, UI_SETTINGS_PATH } from '../paths.ts';
import type { ApiRequest } from '../request.ts';

/** Undefined: another document. */
export function settingsDocuments(
  deps: Pick<ServerDependencies, 'config' | 'version'>,
): (request: ApiRequest) => Answer | undefined {
  return ({ info }) => {
    if (info.belowRoot || !['get', 'head'].includes(info.verb)) return undefined;
    const config = deps.config.current;
    switch (info.path) {
      case UI_SETTINGS_PATH: {
        // Hides the version where /version needs a key.
        const isSecret = config.authenticateVersionEndpoint === true;
        return jsonAnswer(uiSettings(config, isSecret ? undefined : deps.version));
      }
      case AUTH_INFO_PATH:
        return withHeaders(jsonAnswer(signInInfo(config.auth)), config.auth.customHttpHeaders);
      case PLATFORM_SETTINGS_PATH:
        return jsonAnswer(platformSettings(config));
      default:
        return undefined;
    }
  };
}

/** The headers of the configuration are for the paths below `/auth`. */
function withHeaders(answer: Answer, custom: Readonly<Record<string, string>> = {}): Answer {
  const headers = Object.fromEntries(
    Object.entries(custom).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return { ...answer, headers };
}
