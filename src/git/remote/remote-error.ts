/**
 * What goes wrong with a remote repository, told apart by what can be done about it. Git says most
 * of it in words alone, so its words (in the C locale) are read here and nowhere else.
 */
import { GitError } from '../git-error.ts';

export type RemoteProblem =
  /** Nobody answered, or not to the end: trying again later is all there is to do. */
  | 'unreachable'
  /** A push was sent, and whether it took effect could not be found out. */
  | 'unknown-outcome'
  | 'credentials'
  /** It cannot prove that it is who we mean: host key or certificate. */
  | 'identity'
  | 'no-repository'
  | 'no-branch'
  /** HTML where git should answer: a login page, a captive portal, a proxy. */
  | 'web-page'
  | 'redirected'
  /** It understood, and does not allow it: a protected branch, a hook, missing rights. */
  | 'refused'
  /** Somebody else moved the branch that writes wait on. */
  | 'moved'
  /** It has commits that the signature policy does not let in. */
  | 'untrusted'
  /** Anything else that git complains of. */
  | 'failed';

const SENTENCES: Readonly<Record<RemoteProblem, string>> = {
  unreachable: 'The remote repository cannot be reached',
  'unknown-outcome': 'The remote repository did not confirm a push',
  credentials: 'The remote repository does not accept the credentials of gitplane',
  identity: 'The remote repository cannot prove its identity',
  'no-repository': 'The remote repository does not exist, or the credentials do not show it',
  'no-branch': 'The remote repository does not have the branch',
  'web-page':
    'A web page, and not git, answers at the address of the remote repository (a login page, a captive portal or a proxy)',
  redirected: 'The address of the remote repository redirects elsewhere, which is not followed',
  refused: 'The remote repository refused the push',
  moved: 'The branch for pending writes was moved by somebody else',
  untrusted: 'The remote branch has commits that no trusted signature vouches for',
  failed: 'The remote repository cannot be used',
};

export class RemoteError extends GitError {
  readonly problem: RemoteProblem;
  /** What the remote, or git, said: one line, without secrets; may be empty. */
  readonly words: string;

  constructor(problem: RemoteProblem, words = '', options: ErrorOptions = {}) {
    super(words === '' ? SENTENCES[problem] : `${SENTENCES[problem]}: ${words}`, options);
    this.name = 'RemoteError';
    this.problem = problem;
    this.words = words;
  }

  /** The sentence alone, in words that may be public. */
  get sentence(): string {
    return SENTENCES[this.problem];
  }
}

/** The first that matches counts. */
const SIGNS: readonly (readonly [RegExp, RemoteProblem])[] = [
  [/host key verification failed|no .+ host key is known|host identification has/i, 'identity'],
  [
    /ssl certificate problem|certificate verif|certificate subject name|unable to set .*ca/i,
    'identity',
  ],
  [/error: 403|denied to |read[- ]only|not allowed to (push|upload)|write access/i, 'refused'],
  [
    /authentication failed|could not read (username|password)|invalid credentials|error: 401|permission denied \(|terminal prompts disabled|invalid username or/i,
    'credentials',
  ],
  [/couldn't find remote ref|remote branch .* not found/i, 'no-branch'],
  [/error: (429|5\d\d)/i, 'unreachable'],
  [
    /could not resolve|couldn't connect|failed to connect|connection (refused|reset|timed out|closed)|timed? ?out|timeout|network is unreachable|no route to host|empty reply|early eof|hung up|unexpected disconnect|rpc failed|transfer closed|recv failure|send failure|broken pipe|ssl_|gnutls|tls connect|kex_exchange|banner exchange|less than \d+ bytes/i,
    'unreachable',
  ],
  [
    /repository .*not found|does not appear to be a git repository|error: 404|not a git repository|does not exist|no such file or directory/i,
    'no-repository',
  ],
];

export function problemOf(stderr: string): RemoteProblem {
  return SIGNS.find(([sign]) => sign.test(stderr))?.[1] ?? 'failed';
}

const MOST_WORDS = 400;
const PREFIX = /^(?:fatal|error|remote|hint|warning): */i;
/** Advice of git for people at a terminal; it would only hide what happened. */
const NOISE = /^(?:hint:|please make sure|and the repository exists|could not read from remote)/i;

/** What was said as one line of at most 400 characters, without control characters and secrets. */
export function sanitize(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret !== '') clean = clean.replaceAll(secret, '[redacted]');
  }
  const lines = clean
    .replaceAll(/\p{Cc}\[[0-9;?]*[A-Za-z]/gu, '')
    .replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, '$1')
    .split(/[\r\n]+/)
    .map((line) => line.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim())
    .filter((line) => line !== '' && !NOISE.test(line))
    .map((line) => line.replace(PREFIX, '').trim())
    .filter((line) => line !== '');
  const said = [...new Set(lines)].join('; ');
  return said.length > MOST_WORDS ? `${said.slice(0, MOST_WORDS)}…` : said;
}
