/** Finds the forge of a repository by its address. */
import type { ForgeTarget, ForgeType } from './forge.ts';

const KNOWN_HOSTS: Readonly<Record<string, ForgeType>> = {
  'github.com': 'github',
  'gitlab.com': 'gitlab',
  'codeberg.org': 'gitea',
  'gitea.com': 'gitea',
};

const SCP_LIKE = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)\/*(.+)$/;

interface Place {
  /** As in `https://forge.example.com`. */
  readonly origin: string;
  readonly host: string;
  readonly path: string;
}

export interface TargetParts {
  /** Address of the repository, as git takes it. */
  readonly repository: string;
  readonly branch: string;
  /** Absent: known by the host. */
  readonly type?: ForgeType | undefined;
  /** Base URL of the API. Absent: it follows from the host. */
  readonly api?: string | undefined;
}

/** Undefined: the address names no repository of a forge, or the type is not known. */
export function forgeTarget({
  repository,
  branch,
  ...given
}: TargetParts): ForgeTarget | undefined {
  const place = placeOf(repository);
  if (place === undefined) return undefined;
  const type = given.type ?? KNOWN_HOSTS[place.host];
  const steps = place.path
    .replace(/^\/+|\/+$/g, '')
    .replace(/\.git$/, '')
    .split('/');
  if (type === undefined || steps.length < 2) return undefined;
  // The address of a forge below a path begins with that path.
  const project = type === 'gitlab' ? steps.join('/') : steps.slice(-2).join('/');
  const prefix =
    type === 'gitlab'
      ? ''
      : steps
          .slice(0, -2)
          .map((step) => `/${step}`)
          .join('');
  const api = given.api ?? apiOf(type, `${place.origin}${prefix}`, place.host);
  return { type, api: api.replace(/\/+$/, ''), project, branch };
}

function apiOf(type: ForgeType, base: string, host: string): string {
  if (type === 'gitlab') return `${base}/api/v4`;
  if (type === 'gitea') return `${base}/api/v1`;
  return host === 'github.com' ? 'https://api.github.com' : `${base}/api/v3`;
}

function placeOf(repository: string): Place | undefined {
  if (/^(https?|(git\+)?ssh|ssh\+git):\/\//.test(repository) && URL.canParse(repository)) {
    const { protocol, host, hostname, pathname } = new URL(repository);
    const isWeb = protocol === 'http:' || protocol === 'https:';
    // The API does not listen on the port of ssh.
    const origin = isWeb ? `${protocol}//${host}` : `https://${hostname}`;
    return { origin, host: hostname, path: decodeURI(pathname) };
  }
  const [, host, path] = SCP_LIKE.exec(repository) ?? [];
  if (host === undefined || path === undefined) return undefined;
  return { origin: `https://${host}`, host, path };
}
