/** Paths that more than one file knows. */

/** The hosted repository, for git. */
export const GIT_PATH = '/git/platform.git';
export const PLAN_PATH = '/plan';
