/** Parts of the configuration that programs beside the daemon act on, without what is secret. */
import type { PlatformConfig } from './platform-config.ts';
import type { UISettingsConfig } from './sections/ui-settings.ts';

type ShownUISettings = UISettingsConfig & { readonly platformVersion?: string };

/** Settings for anonymous clients, before sign-in. `version`: only if it is public. */
export function uiSettings(
  { uiSettings: look }: PlatformConfig,
  version: string | undefined,
): ShownUISettings {
  const { platformVersion: _ofStatus, ...shown }: ShownUISettings = look ?? {};
  return { ...shown, ...(version === undefined ? {} : { platformVersion: version }) };
}

type Apps = NonNullable<PlatformConfig['apps']>;
type Repository = NonNullable<Apps['repositories']>[number];

type ShownApps = Omit<Apps, 'repositories'> & {
  readonly repositories?: readonly Omit<Repository, 'username' | 'password'>[];
};

/** For user interfaces and agents that authenticated. */
export interface PlatformSettings
  extends Pick<
    PlatformConfig,
    | 'platformHost'
    | 'projectNamespacePrefix'
    | 'cloud'
    | 'costControl'
    | 'imageBuilder'
    | 'platformDB'
  > {
  readonly apps?: ShownApps;
  readonly audit: { readonly disableAgentSyncBack: boolean };
}

export function platformSettings(config: PlatformConfig): PlatformSettings {
  const { platformHost, projectNamespacePrefix, cloud, costControl, imageBuilder, platformDB } =
    config;
  const { apps, audit } = config;
  return {
    projectNamespacePrefix,
    ...(platformHost === undefined ? {} : { platformHost }),
    ...(cloud === undefined ? {} : { cloud }),
    ...(costControl === undefined ? {} : { costControl }),
    ...(imageBuilder === undefined ? {} : { imageBuilder }),
    ...(platformDB === undefined ? {} : { platformDB }),
    ...(apps === undefined ? {} : { apps: shownApps(apps) }),
    audit: { disableAgentSyncBack: audit?.disableAgentSyncBack === true },
  };
}

/** Charts are fetched for people, not by them. */
function shownApps({ repositories, ...apps }: Apps): ShownApps {
  if (repositories === undefined) return apps;
  return {
    ...apps,
    repositories: repositories.map(({ username: _user, password: _password, ...shown }) => shown),
  };
}
