/**
 * Address of a remote repository: a URL, `user@host:path`, or a folder. A password in the address is
 * split off at once, so that the rest can be shown, logged and passed to git.
 */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GitError } from '../git-error.ts';

export type RemoteProtocol = 'https' | 'http' | 'ssh' | 'file';

export interface RemoteAddress {
  readonly protocol: RemoteProtocol;
  /** Address without password, for git, logs and messages. */
  readonly url: string;
  /** User name of the URL. Over SSH it stays in the URL, where it is not secret. */
  readonly username: string | undefined;
  readonly password: string | undefined;
}

const PROTOCOLS: Readonly<Record<string, RemoteProtocol>> = {
  'https:': 'https',
  'http:': 'http',
  'ssh:': 'ssh',
  'git+ssh:': 'ssh',
  'ssh+git:': 'ssh',
};

/** `git@host:path`. As in git, a slash before the first colon means a folder. */
const SCP_LIKE = /^(?:[\w.-]+@)?[A-Za-z0-9[][^/:@]*:.+$/;
const CONTROL = /\p{Cc}/u;

/** Throws a GitError that does not repeat the text, which may contain a password. */
export function parseRemoteAddress(text: string): RemoteAddress {
  if (text === '' || CONTROL.test(text) || text.startsWith('-')) throw unusable();
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return parseUrl(text);
  // Any other text with "::" would be a program that git starts.
  if (text.includes('::') && !text.startsWith('/')) throw unusable();
  if (SCP_LIKE.test(text) && !text.startsWith('/') && !text.startsWith('.')) {
    return { protocol: 'ssh', url: text, username: undefined, password: undefined };
  }
  return local(resolve(text));
}

function parseUrl(text: string): RemoteAddress {
  if (!URL.canParse(text)) throw unusable();
  const url = new URL(text);
  if (url.protocol === 'file:') return local(fileURLToPath(url));
  const protocol = PROTOCOLS[url.protocol];
  if (protocol === undefined || url.hostname === '' || url.hostname.startsWith('-')) {
    throw unusable();
  }
  const username = decode(url.username);
  const password = decode(url.password);
  url.password = '';
  if (protocol !== 'ssh') url.username = '';
  url.hash = '';
  return { protocol, url: url.href, username, password };
}

function decode(text: string): string | undefined {
  if (text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function local(path: string): RemoteAddress {
  return { protocol: 'file', url: path, username: undefined, password: undefined };
}

function unusable(): GitError {
  return new GitError('Cannot use the address of the remote repository', {
    remedy:
      'Write https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH, or the path of a bare repository',
  });
}
