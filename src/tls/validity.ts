/** Constants of the certificates of the authority and of the server. */

export const DAY_MS = 86_400_000;

/** Clients with a clock that is a little behind must accept a new certificate. */
export const BACKDATE_MS = 60 * 60 * 1000;

/** Mode of certificate files, which clients need. */
export const PUBLIC_MODE = 0o644;
