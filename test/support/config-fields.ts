/** Every row of the tables of spec sections 2.8.1 to 2.8.12, with its type and its section. */

/** `path: type` lines; `[]` is a list entry, `{}` a map value. */
export function fields(text: string): [string, string][] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/:\s+/) as [string, string]);
}

const OIDC = fields(`
  issuerUrl: string
  clientId: string
  clientSecret: string
  redirectURI: string
  postLogoutRedirectURI: string
  caFile: string
  insecureCa: boolean
  preferredUsername: string
  platformUsernameClaim: string
  usernameClaim: string
  emailClaim: string
  allowedExtraClaims: array
  usernamePrefix: string
  groupsClaim: string
  groups: array
  scopes: array
  getUserInfo: boolean
  groupsPrefix: string
  type: string
  resource: string
`);
const CLIENT = fields(`
  clientId: string
  clientSecret: string
  redirectURI: string
`);
const BLOCKS: Record<string, [string, string][]> = {
  oidc: OIDC,
  providerA: [
    ...CLIENT,
    ...fields(`
      orgs: array
      orgs[].name: string
      orgs[].teams: array
      hostName: string
      rootCA: string
    `),
  ],
  providerB: [
    ...CLIENT,
    ...fields(`
      baseURL: string
      groups: array
    `),
  ],
  providerC: [
    ...CLIENT,
    ...fields(`
      scopes: array
      hostedDomains: array
      groups: array
      serviceAccountFilePath: string
      adminEmail: string
    `),
  ],
  providerD: [
    ...CLIENT,
    ...fields(`
      tenant: string
      groups: array
      onlySecurityGroups: boolean
      useGroupsAsWhitelist: boolean
    `),
  ],
  saml: fields(`
    redirectURI: string
    ssoURL: string
    caData: string
    ca: string
    insecureSkipSignatureValidation: boolean
    usernameAttr: string
    emailAttr: string
    groupsAttr: string
    entityIssuer: string
    ssoIssuer: string
    groupsDelim: string
    allowedGroups: array
    filterGroups: boolean
    nameIDPolicyFormat: string
  `),
};

const METRICS = ['costControl.global.metrics', 'costControl.cluster.metrics'];
const RESOURCES = [...METRICS, 'costControl.cluster.costBackend', 'imageBuilder'];

export const CONFIG_FIELDS: readonly [string, string][] = [
  ...['auth', 'auth.connectors[]'].flatMap((home) =>
    Object.entries(BLOCKS).flatMap(([block, list]): [string, string][] => [
      [`${home}.${block}`, 'object'],
      ...list.map(([path, type]): [string, string] => [`${home}.${block}.${path}`, type]),
    ]),
  ),
  ...METRICS.flatMap((home): [string, string][] => [
    [`${home}.replicas`, 'integer'],
    [`${home}.retention`, 'string'],
    [`${home}.storage.storageClass`, 'string'],
    [`${home}.storage.size`, 'string'],
  ]),
  ...RESOURCES.flatMap((home): [string, string][] => [
    [`${home}.replicas`, 'integer'],
    [`${home}.resources.limits`, 'map'],
    [`${home}.resources.requests`, 'map'],
    [`${home}.resources.claims`, 'array'],
    [`${home}.resources.claims[].name`, 'string'],
    [`${home}.resources.claims[].request`, 'string'],
  ]),
  ...fields(`
    auth.providerE.host: string
    auth.providerE.bearerToken: string
    auth.providerE.insecure: boolean
    auth.password.disabled: boolean
    auth.connectors: array
    auth.connectors[].id: string
    auth.connectors[].displayName: string
    auth.disableTeamCreation: boolean
    auth.disableUserCreation: boolean
    auth.accessKeyMaxTTLSeconds: integer
    auth.loginAccessKeyTTLSeconds: integer
    auth.customHttpHeaders: map
    auth.groupsFilters: array
    oidc.enabled: boolean
    oidc.wildcardRedirect: boolean
    oidc.clients: array
    oidc.clients[].name: string
    oidc.clients[].clientId: string
    oidc.clients[].clientSecret: string
    oidc.clients[].redirectURIs: array
    apps.noDefault: boolean
    apps.repositories: array
    apps.repositories[].name: string
    apps.repositories[].url: string
    apps.repositories[].username: string
    apps.repositories[].password: string
    apps.repositories[].insecure: boolean
    apps.predefinedApps: array
    apps.predefinedApps[].chart: string
    apps.predefinedApps[].initialVersion: string
    apps.predefinedApps[].initialValues: string
    apps.predefinedApps[].clusters: array
    apps.predefinedApps[].title: string
    apps.predefinedApps[].iconUrl: string
    apps.predefinedApps[].readmeUrl: string
    platformHost: string
    projectNamespacePrefix: string
    workspaceSubDomain: string
    disableConfigEndpoint: boolean
    authenticateVersionEndpoint: boolean
    platformDB.storageClass: string
    imageBuilder.enabled: boolean
    audit.enabled: boolean
    audit.disableAgentSyncBack: boolean
    audit.level: integer
    audit.policy: object
    audit.policy.rules: array
    audit.policy.rules[].level: string
    audit.policy.rules[].users: array
    audit.policy.rules[].userGroups: array
    audit.policy.rules[].verbs: array
    audit.policy.rules[].resources: array
    audit.policy.rules[].resources[].group: string
    audit.policy.rules[].resources[].resources: array
    audit.policy.rules[].resources[].resourceNames: array
    audit.policy.rules[].namespaces: array
    audit.policy.rules[].nonResourceURLs: array
    audit.policy.rules[].omitStages: array
    audit.policy.rules[].requestTargets: array
    audit.policy.rules[].clusters: array
    audit.policy.omitStages: array
    audit.dataStoreEndpoint: string
    audit.dataStoreTTL: integer
    audit.path: string
    audit.maxAge: integer
    audit.maxBackups: integer
    audit.maxSize: integer
    audit.compress: boolean
    uiSettings.platformVersion: string
    uiSettings.logoURL: string
    uiSettings.faviconURL: string
    uiSettings.smallLogoURL: string
    uiSettings.logoBackgroundColor: string
    uiSettings.legalTemplate: string
    uiSettings.primaryColor: string
    uiSettings.sidebarColor: string
    uiSettings.accentColor: string
    uiSettings.customCss: array
    uiSettings.customJavaScript: array
    uiSettings.navBarButtons: array
    uiSettings.navBarButtons[].position: string
    uiSettings.navBarButtons[].text: string
    uiSettings.navBarButtons[].link: string
    uiSettings.navBarButtons[].icon: string
    uiSettings.externalURLs.block: boolean
    uiSettings.externalURLs.allow: array
    secretStore.enabled: boolean
    secretStore.address: string
    secretStore.skipTLSVerify: boolean
    secretStore.namespace: string
    secretStore.auth.token: string
    secretStore.auth.tokenSecretRef.name: string
    secretStore.auth.tokenSecretRef.key: string
    secretStore.auth.tokenSecretRef.optional: boolean
    secretStore.syncInterval: string
    cloud.releaseChannel: string
    cloud.maintenanceWindow.dayOfWeek: string
    cloud.maintenanceWindow.timeWindow: string
    costControl.enabled: boolean
    costControl.settings.priceCurrency: string
    costControl.settings.averageCPUPricePerNode.price: number
    costControl.settings.averageCPUPricePerNode.timePeriod: string
    costControl.settings.averageRAMPricePerNode.price: number
    costControl.settings.averageRAMPricePerNode.timePeriod: string
  `),
];

/** The section of the specification by how the path begins; the first that fits. */
const SECTIONS: readonly [RegExp, string][] = [
  [/^auth\.(connectors\[\]\.)?oidc/, '2.8.2'],
  [/^auth\.(connectors\[\]\.)?providerA/, '2.8.3'],
  [/^auth\.(connectors\[\]\.)?providerB/, '2.8.4'],
  [/^auth\.(connectors\[\]\.)?providerC/, '2.8.5'],
  [/^auth\.(connectors\[\]\.)?providerD/, '2.8.6'],
  [/^auth\.(connectors\[\]\.)?saml/, '2.8.7'],
  [/^auth(\.|$)/, '2.8.1'],
  [/^audit/, '2.8.9'],
  [/^uiSettings/, '2.8.10'],
  [/^secretStore/, '2.8.11'],
  [/^(cloud|costControl)/, '2.8.12'],
];

export function sectionOf(path: string): string {
  return SECTIONS.find(([begins]) => begins.test(path))?.[1] ?? '2.8.8';
}
