/** Paths that more than one file knows. */

/** The hosted repository, for git. */
export const GIT_PATH = '/git/platform.git';
export const PLAN_PATH = '/plan';
export const AUDIT_EVENTS_PATH = '/audit/events';
/** What the configuration says to user interfaces, to sign-in pages, and to who signed in. */
export const UI_SETTINGS_PATH = '/ui/settings';
export const AUTH_INFO_PATH = '/auth/info';
export const PLATFORM_SETTINGS_PATH = '/platform/settings';
/** The built-in OpenID provider. */
export const OIDC_PATH = '/oidc';
