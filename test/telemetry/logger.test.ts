import { describe, expect, test } from 'vitest';
import { type LogStream, openLogger } from '../../src/telemetry/logger.ts';

async function logged(
  logFormat: 'auto' | 'text' | 'json',
  terminal: Pick<LogStream, 'isTTY' | 'hasColors'>,
): Promise<string[]> {
  const lines: string[] = [];
  const stream = { ...terminal, write: (line: string) => lines.push(line) };
  const logger = await openLogger({ logLevel: 'info', logFormat }, stream);
  logger.info({ url: 'https://127.0.0.1:8443', token: 'secret-1' }, 'Serving');
  logger.error({ err: new Error('the disk\nis full') }, 'A part failed');
  return lines;
}

describe('the form of log lines', () => {
  test.each([
    ['auto', { isTTY: true, hasColors: () => false }],
    ['text', {}],
  ] as const)('--log-format %s gives one line of text for people', async (format, terminal) => {
    const lines = await logged(format, terminal);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: Serving \{"url":"https:.*\}\n$/);
    expect(lines[1]).toMatch(
      /^\[.*\] ERROR: A part failed \{.*"message":"the disk\\nis full".*\}\n$/,
    );
    // Neither a second line nor a colour where there is none.
    expect(lines.join('').split('\n')).toHaveLength(3);
    expect(lines.join('')).not.toContain('\u001B');
  });

  test.each([
    ['auto', {}],
    ['json', { isTTY: true, hasColors: () => true }],
  ] as const)('--log-format %s gives JSON for programs', async (format, terminal) => {
    const [first = ''] = await logged(format, terminal);
    expect(JSON.parse(first)).toMatchObject({ level: 'info', msg: 'Serving' });
  });

  test('colours where the terminal has them, and secrets in none of the forms', async () => {
    const colored = await logged('auto', { isTTY: true, hasColors: () => true });
    expect(colored.join('')).toContain('\u001B[32mINFO');
    for (const lines of [colored, await logged('json', {})]) {
      expect(lines.join('')).not.toContain('secret-1');
      expect(lines.join('')).toContain('[redacted]');
    }
  });
});
