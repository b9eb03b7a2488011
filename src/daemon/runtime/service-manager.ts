/** Readiness for systemd: a unit with `Type=notify` counts as started when the platform is served. */
import { execFile } from 'node:child_process';

const TIME_LIMIT_MS = 5_000;

/**
 * Runs `systemd-notify`, which systemd brings: Node cannot send to a socket of datagrams. Nothing happens
 * outside of such a unit. A failure is left to the start limit of the unit.
 */
export function notifyReady(
  environment: Readonly<Record<string, string | undefined>>,
  url: string,
): void {
  if (environment['NOTIFY_SOCKET'] === undefined) return;
  const args = ['--ready', `--status=Serving ${url}`];
  execFile('systemd-notify', args, { timeout: TIME_LIMIT_MS }, (error) => {
    if (error !== null) {
      process.stderr.write(`gitplane: systemd was not told of the start: ${error.message}\n`);
    }
  });
}
