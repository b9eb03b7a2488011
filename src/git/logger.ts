/** Log of background work: a constant message and variable fields, as pino takes them. */
export interface GitLogger {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export const silent: GitLogger = { debug: () => undefined, warn: () => undefined };
