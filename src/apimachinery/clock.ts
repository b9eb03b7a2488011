/** Source of the time, in milliseconds since the epoch. Tests inject their own. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** RFC 3339 in UTC with whole seconds, the format of every timestamp of the API. */
export function rfc3339(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}
