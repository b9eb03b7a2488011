/**
 * Logger of the process: constant messages, variable fields, no secrets. Bodies of requests are never
 * logged; the paths below redact secrets that reach a field by mistake.
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
