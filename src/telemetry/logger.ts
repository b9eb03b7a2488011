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

export const LOG_FORMATS = ['auto', 'text', 'json'] as const;

export interface LogOptions {
  readonly logLevel: string;
  /** `auto`: text on a terminal, JSON elsewhere. */
  readonly logFormat: (typeof LOG_FORMATS)[number];
}

/** Standard error, or another sink of log lines. */
export interface LogStream {
  write(line: string): unknown;
  readonly isTTY?: boolean;
  /** False where the environment forbids colours. */
  hasColors?(): boolean;
}

/** Log lines for people on a terminal, and JSON for programs. */
export async function openLogger(options: LogOptions, stream: LogStream): Promise<Logger> {
  const { logLevel, logFormat } = options;
  const isText = logFormat === 'text' || (logFormat === 'auto' && stream.isTTY === true);
  const format = isText ? await textFormat(stream) : (line: string): string => line;
  return createLogger(logLevel, { write: (line) => void stream.write(format(line)) });
}

/** One line each: time, level, message, fields. Stacks are in JSON alone. */
async function textFormat(stream: LogStream): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({
    colorize: stream.hasColors?.() ?? false,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
    errorLikeObjectKeys: [],
    ignore: 'err.stack',
  });
}
