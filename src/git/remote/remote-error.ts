/**
 * Problems with a remote repository, classified by their remedy. Git reports most of them only as
 * text, so its messages (in the C locale) are interpreted here and nowhere else.
 */
import { GitError } from '../git-error.ts';

export type RemoteProblem =
  /** No answer, or an incomplete one: only a later retry can help. */
  | 'unreachable'
  /** A push was sent, and its outcome could not be found out. */
  | 'unknown-outcome'
  | 'credentials'
  /** Its host key or certificate could not be verified. */
  | 'identity'
  | 'no-repository'
  | 'no-branch'
  /** The branch is at a tag, a tree or a blob. */
  | 'no-commit'
  /** HTML in place of a git answer: a login page, a captive portal, a proxy. */
  | 'web-page'
  | 'redirected'
  /** The remote denies the operation: a protected branch, a hook, missing rights. */
  | 'refused'
  /** Another process moved the branch for pending writes. */
  | 'moved'
  /** The remote has commits that the signature policy does not allow. */
  | 'untrusted'
  /** The local git met one of its limits. */
  | 'limit'
  /** An operator has stopped exchanges with the remote for a time. */
  | 'suspended'
  /** Any other error of git. */
  | 'failed';

const SENTENCES: Readonly<Record<RemoteProblem, string>> = {
  unreachable: 'The remote repository cannot be reached',
  'unknown-outcome': 'The remote repository did not confirm a push',
  credentials: 'The remote repository does not accept the credentials of gitplane',
  identity: 'The remote repository cannot prove its identity',
  'no-repository': 'The remote repository does not exist, or the credentials do not show it',
  'no-branch': 'The remote repository does not have the branch',
  'no-commit': 'The branch of the remote repository is not at a commit',
  'web-page':
    'A web page, and not git, answers at the address of the remote repository (a login page, a captive portal or a proxy)',
  redirected: 'The address of the remote repository redirects elsewhere, which is not followed',
  refused: 'The remote repository refused the push',
  moved: 'Another process moved the branch for pending writes',
  untrusted: 'The remote branch has commits without a trusted signature',
  limit: 'The remote repository cannot be read or written within the limits of git',
  suspended: 'Following the remote repository is suspended',
  failed: 'The remote repository cannot be used',
};

export class RemoteError extends GitError {
  readonly problem: RemoteProblem;
  /** Message of the remote or of git: one line without secrets, may be empty. */
  readonly detail: string;

  constructor(problem: RemoteProblem, words = '', options: ErrorOptions = {}) {
    super(words === '' ? SENTENCES[problem] : `${SENTENCES[problem]}: ${words}`, options);
    this.name = 'RemoteError';
    this.problem = problem;
    this.detail = words;
  }

  /**
   * The problem without the message of the remote; contains no internal data. The message of a limit
   * is the daemon's own.
   */
  get sentence(): string {
    return this.problem === 'limit' ? this.message : SENTENCES[this.problem];
  }
}

/** Patterns in the messages of git. The first match counts. */
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

const MAX_WORDS = 400;
const PREFIX = /^(?:fatal|error|remote|hint|warning): */i;
/** Advice of git for people at a terminal, which would hide the cause. */
const NOISE = /^(?:hint:|please make sure|and the repository exists|could not read from remote)/i;

/** Message as one line of at most 400 characters, without control characters and secrets. */
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
  const line = [...new Set(lines)].join('; ');
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS)}…` : line;
}
