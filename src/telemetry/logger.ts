/**
 * One logger for the process: constant messages, variable fields, and no secret ever. Bodies of
 * requests are never logged at all; the paths below are a second net for what slips into a field.
 */
import { type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger };

const REDACTED = [
  'authorization',
  'headers.authorization',
  'headers.cookie',
  'req.headers.authorization',
  'req.headers.cookie',
  'token',
  'key',
  'password',
  'secret',
  'spec.data',
  'spec.key',
  'spec.raw',
  'status.token',
  'object.spec.data',
  'object.spec.key',
  'object.spec.raw',
];

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export function createLogger(level: string, destination?: { write(line: string): void }): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '[redacted]' },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
