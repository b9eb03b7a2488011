/** What the certificates of the authority and of the server have in common. */

export const DAY_MS = 86_400_000;

/** Clients with a clock that is a little behind must accept a new certificate. */
export const BACKDATE_MS = 60 * 60 * 1000;

/** Of files that clients need: certificates, not keys. */
export const PUBLIC_MODE = 0o644;
