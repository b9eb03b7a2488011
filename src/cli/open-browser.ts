/** Opens a URL in the browser of the user; does nothing when there is none. */
import { spawn } from 'node:child_process';

type Environment = Readonly<Record<string, string | undefined>>;

/** False in a session over SSH and without a display. */
export function hasBrowser(environment: Environment, platform: NodeJS.Platform): boolean {
  if (environment['BROWSER']) return true;
  if (environment['SSH_CONNECTION'] || environment['SSH_TTY']) return false;
  if (platform === 'darwin') return true;
  return Boolean(environment['DISPLAY'] || environment['WAYLAND_DISPLAY']);
}

export function openBrowser(
  url: string,
  environment: Environment,
  platform: NodeJS.Platform = process.platform,
): void {
  const chosen = (environment['BROWSER'] ?? '').split(' ').filter((word) => word !== '');
  const [program = platform === 'darwin' ? 'open' : 'xdg-open', ...words] = chosen;
  const child = spawn(program, [...words, url], {
    detached: true,
    stdio: 'ignore',
    env: environment,
  });
  // The URL is shown as well.
  child.on('error', () => undefined);
  child.unref();
}
