/** Paths that more than one file uses. */

/** The hosted repository. */
export const GIT_PATH = '/git/platform.git';
/** The whole API in one document. */
export const OPENAPI_PATH = '/openapi.json';
export const PLAN_PATH = '/plan';
export const BRANCHES_PATH = '/branches';
export const COMMITS_PATH = '/commits';
export const COMPARE_PATH = '/compare';
export const COSTS_PATH = '/costs';
export const SUMMARY_PATH = '/summary';
export const SUSPENSIONS_PATH = '/suspensions';
export const SEARCH_PATH = '/search';
export const EXPLAIN_PATH = '/access/explain';
export const WHO_PATH = '/access/who';
export const AUDIT_EVENTS_PATH = '/audit/events';
/** The configuration as user interfaces, sign-in pages and signed-in users read it. */
export const UI_SETTINGS_PATH = '/ui/settings';
export const AUTH_INFO_PATH = '/auth/info';
export const PLATFORM_SETTINGS_PATH = '/platform/settings';
/** The built-in OpenID provider. */
export const OIDC_PATH = '/oidc';
/** The pages for browsers. */
export const CONSOLE_PATH = '/console';
