/**
 * Every flag and environment variable in one table: type, default, help. The only reader of the
 * process environment. `--data-dir` is also `GITPLANE_DATA_DIR`; a flag wins over its variable.
 */
import { parseArgs } from 'node:util';

export interface OptionSpec {
  readonly name: string;
  /** One letter: `-f` for `--file`. */
  readonly short?: string;
  /** What stands for the value in the help; absent: the flag takes none. */
  readonly value?: string;
  readonly default?: string;
  readonly help: string;
  readonly multiple?: boolean;
  /** A variable of others that says the same, such as KUBECONFIG. */
  readonly variable?: string;
}

/** One answer for the daemon and for the commands that show what it will do. */
const REFERENCE_NAMES: OptionSpec = {
  name: 'reference-names',
  value: 'FORM',
  default: 'short',
  help: 'how tenants name what they refer to: short (v…) or concat (name-x-namespace-x-tenant)',
};

const ETCD_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'state-key',
    value: 'FILE',
    help: 'key that seals what is in etcd, the same on every replica (64 hexadecimal digits)',
  },
  { name: 'etcd-prefix', value: 'KEY', default: '/gitplane/', help: 'where everything is in etcd' },
  { name: 'etcd-ca', value: 'FILE', help: 'authorities (PEM) to trust for etcd' },
  { name: 'etcd-cert', value: 'FILE', help: 'certificate (PEM) to show to etcd' },
  { name: 'etcd-key', value: 'FILE', help: 'its private key (PEM)' },
  { name: 'etcd-user', value: 'NAME', help: 'user name in etcd' },
  { name: 'etcd-password-file', value: 'FILE', help: 'file with its password' },
];

export const SERVE_OPTIONS: readonly OptionSpec[] = [
  { name: 'data-dir', value: 'DIR', default: './data', help: 'all that the daemon owns' },
  { name: 'listen', value: 'ADDR', default: '127.0.0.1:8443', help: 'HTTPS listener' },
  {
    name: 'listen-http',
    value: 'ADDR',
    help: 'plain HTTP beside it, for an ingress that ends TLS',
  },
  { name: 'tls-cert', value: 'FILE', help: 'certificate chain (PEM); default: a private CA' },
  { name: 'tls-key', value: 'FILE', help: 'private key of --tls-cert (PEM)' },
  { name: 'hostname', value: 'NAME', multiple: true, help: 'further names in the certificate' },
  {
    name: 'public-url',
    value: 'URL',
    help: 'base URL that clients use; endpoint tokens name it as their issuer',
  },
  { name: 'branch', value: 'NAME', default: 'main', help: 'the branch that is the platform' },
  {
    name: 'path',
    value: 'DIR',
    default: '.',
    help: 'folder of the repository that holds manifests',
  },
  {
    name: 'repo',
    value: 'URL',
    help: 'follow the branch of this repository (https, ssh or a path); default: host one',
  },
  { name: 'repo-username', value: 'NAME', help: 'user name for --repo over HTTPS; default: git' },
  {
    name: 'repo-token',
    value: 'TOKEN',
    help: 'token or password for --repo; better in GITPLANE_REPO_TOKEN or a file',
  },
  { name: 'repo-token-file', value: 'FILE', help: 'file with the token, read at each use' },
  {
    name: 'repo-token-type',
    value: 'TYPE',
    default: 'basic',
    help: 'how the token is sent: basic or bearer',
  },
  { name: 'repo-ca', value: 'FILE', help: 'authorities (PEM) to trust for --repo over HTTPS' },
  {
    name: 'repo-client-cert',
    value: 'FILE',
    help: 'certificate (PEM) to show --repo over HTTPS, where it asks for one',
  },
  {
    name: 'repo-client-key',
    value: 'FILE',
    help: 'its private key (PEM, no passphrase); default: in the same file',
  },
  { name: 'repo-ssh-key', value: 'FILE', help: 'private key for --repo over SSH' },
  {
    name: 'repo-known-hosts',
    value: 'FILE',
    help: "host keys to accept over SSH; default: the user's known_hosts",
  },
  {
    name: 'fetch-interval',
    value: 'TIME',
    default: '60s',
    help: 'how often --repo is fetched without any webhook',
  },
  {
    name: 'write-branch',
    value: 'NAME',
    help: 'push writes to this branch of --repo, for review, instead of the followed one',
  },
  {
    name: 'hook-secret-file',
    value: 'FILE',
    help: 'secret of POST /hooks/<secret>; default: hook.secret in the data directory, made once',
  },
  {
    name: 'api-group',
    value: 'GROUP',
    default: 'management.gitplane.dev',
    help: 'name of the management API group',
  },
  {
    name: 'proxy-prefix',
    value: 'SEGMENT',
    default: 'kubernetes',
    help: 'first path segment of the API',
  },
  {
    name: 'prune-budget-objects',
    value: 'N',
    default: '10',
    help: 'a push or move that removes more objects, and more per cent, needs consent',
  },
  {
    name: 'prune-budget-percent',
    value: 'P',
    default: '20',
    help: 'the same, in per cent of all objects; removing all of them always needs consent',
  },
  {
    name: 'keep-expired-keys',
    value: 'DAYS',
    default: '7',
    help: 'days until access keys that ended are removed from git; forever: never',
  },
  {
    name: 'endpoint-token-max-ttl',
    value: 'SECONDS',
    default: '86400',
    help: 'the longest life of an endpoint token: who asks for more gets this',
  },
  {
    name: 'oidc-signing-alg',
    value: 'ALG',
    default: 'RS256',
    help: 'what the OpenID provider signs ID tokens with: RS256, which every client takes, or ES256',
  },
  {
    name: 'allowed-signers',
    value: 'FILE',
    help: "whose SSH signatures count (git's allowed_signers): every pushed commit must be signed",
  },
  {
    name: 'gpg-keyring',
    value: 'FILE',
    help: 'whose OpenPGP signatures count: public keys, armored; every pushed commit must be signed',
  },
  {
    name: 'signature-policy',
    value: 'FILE',
    help: 'which paths take whose signature (YAML); goes with the two above',
  },
  {
    name: 'signing-key',
    value: 'FILE',
    help: 'OpenSSH private key that signs the commits of API writes',
  },
  {
    name: 'age-key-file',
    value: 'FILE',
    multiple: true,
    help: 'further age identities that open sealed secrets, beside age.key in the data directory',
  },
  {
    name: 'allow-plaintext-secrets',
    help: 'take pushes with secrets in the clear, in a repository that seals them',
  },
  {
    name: 'config',
    value: 'FILE',
    help: 'the configuration of the platform (YAML); default: the Config in git',
  },
  {
    name: 'state',
    value: 'WHERE',
    default: 'embedded',
    help: 'where the state is: embedded, or etcd://HOST:PORT[,HOST:PORT…] for replicas',
  },
  ...ETCD_OPTIONS,
  {
    name: 'etcd-compaction',
    value: 'TIME',
    default: '5m',
    help: 'how long the past of etcd is kept by us; off: somebody else sees to it',
  },
  {
    name: 'leader-lease',
    value: 'SECONDS',
    default: '3',
    help: 'how long a leader that says nothing is waited for',
  },
  {
    name: 'listen-peer',
    value: 'ADDR',
    default: '127.0.0.1:8444',
    help: 'listener for other replicas',
  },
  {
    name: 'advertise-peer',
    value: 'HOST:PORT',
    help: 'where other replicas reach it; default: --listen-peer',
  },
  REFERENCE_NAMES,
  { name: 'seed', value: 'DIR', help: 'the first commit of an empty hosted repository' },
  {
    name: 'log-level',
    value: 'LEVEL',
    default: 'info',
    help: 'fatal, error, warn, info, debug, trace or silent',
  },
];

/** Of commands that work without a daemon. */
const KEY_FILES: OptionSpec = {
  name: 'age-key-file',
  value: 'FILE',
  multiple: true,
  variable: 'SOPS_AGE_KEY_FILE',
  help: 'age identities that open sealed files; default: data/age.key where there is one',
};

export const VALIDATE_OPTIONS: readonly OptionSpec[] = [
  { name: 'format', value: 'FORMAT', default: 'text', help: 'text, json, sarif or github' },
  KEY_FILES,
  {
    name: 'api-group',
    value: 'GROUP',
    default: 'management.gitplane.dev',
    help: 'name of the management API group',
  },
];

export const CRDS_OPTIONS: readonly OptionSpec[] = [
  { name: 'format', value: 'FORMAT', default: 'yaml', help: 'yaml or json' },
  {
    name: 'api-group',
    value: 'GROUP',
    default: 'management.gitplane.dev',
    help: 'name of the management API group',
  },
];

/** Those of the daemon that a plan depends on. */
const SHARED_WITH_SERVE = [
  'data-dir',
  'branch',
  'path',
  'api-group',
  'prune-budget-objects',
  'prune-budget-percent',
  'reference-names',
];

export const PLAN_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'repo-dir',
    value: 'DIR',
    help: 'a clone or a bare repository; default: the one in --data-dir, else the folder you are in',
  },
  {
    name: 'base',
    value: 'REV',
    help: 'what to compare with; default: --branch, as it was fetched or as it is here',
  },
  {
    name: 'endpoints',
    value: 'FILE',
    multiple: true,
    help: 'Endpoints of tenants (YAML or JSON) to show the effect of changed patches on; -: standard input',
  },
  { name: 'format', value: 'FORMAT', default: 'text', help: 'text or json' },
  KEY_FILES,
  ...SERVE_OPTIONS.filter(({ name }) => SHARED_WITH_SERVE.includes(name)),
];

export const PATCHES_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'file',
    short: 'f',
    value: 'FILE',
    default: 'vcluster.yaml',
    help: 'the configuration of the tenant, with sync.toHost.endpoints.patches',
  },
  {
    name: 'input',
    short: 'i',
    value: 'FILE',
    multiple: true,
    help: 'objects to try the patches on (YAML or JSON); -: standard input',
  },
  { name: 'reverse', help: 'the way back, from the control plane to the tenant' },
  {
    name: 'patches-only',
    help: 'take the objects as they are, without the translation of names before the patches',
  },
  {
    name: 'tenant',
    value: 'NAME',
    help: 'name of the tenant; default: the folder, as in tenants/NAME/vcluster.yaml',
  },
  {
    name: 'namespace',
    value: 'NAME',
    help: 'namespace of the control plane that gets its objects; default: as the file says',
  },
  { name: 'mode', value: 'MODE', help: 'namespaces: single or multi; default: as the file says' },
  REFERENCE_NAMES,
  { name: 'output', short: 'o', value: 'FORM', default: 'diff', help: 'diff or json' },
];

export const TOKEN_OPTIONS: readonly OptionSpec[] = [
  { name: 'issuer', value: 'URL', help: 'the platform that has to have issued it' },
  { name: 'jwks', value: 'FILE', help: 'its public keys; default: fetched from --issuer' },
  { name: 'ca-file', value: 'FILE', help: 'authority to trust when the keys are fetched (PEM)' },
  {
    name: 'audience',
    value: 'NAME',
    multiple: true,
    help: 'what the token has to be for, as in gitplane:cluster:NAME; any of several',
  },
];

const CONNECTION_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'kubeconfig',
    value: 'FILE',
    default: 'data/kubeconfig',
    variable: 'KUBECONFIG',
    help: 'of the platform; $KUBECONFIG counts too',
  },
  {
    name: 'api-group',
    value: 'GROUP',
    default: 'management.gitplane.dev',
    help: 'name of the management API group',
  },
];

const LOGIN_STORE: OptionSpec = {
  name: 'config-dir',
  value: 'DIR',
  help: 'where keys of logins are kept; default: gitplane in $XDG_CONFIG_HOME or ~/.config',
};

export const CREDENTIAL_OPTIONS: readonly OptionSpec[] = [LOGIN_STORE];

export const WHOAMI_OPTIONS: readonly OptionSpec[] = [
  { name: 'context', value: 'NAME', help: 'which login; default: the current context' },
  {
    name: 'kubeconfig',
    value: 'FILE',
    help: 'the only kubeconfig to use; default: $KUBECONFIG, else ~/.kube/config',
  },
  LOGIN_STORE,
];

export const LOGIN_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'headless',
    help: 'show a code for a browser elsewhere; the default where there is none',
  },
  {
    name: 'access-key',
    value: 'KEY',
    help: 'take this key and ask nobody; -: standard input. Better than on the command line',
  },
  { name: 'ca-file', value: 'FILE', help: 'authority of the server (PEM)' },
  { name: 'insecure', help: 'look at no certificate, now and in the kubeconfig' },
  ...WHOAMI_OPTIONS,
];

const KEY_OPTIONS: readonly OptionSpec[] = [
  { name: 'user', value: 'NAME', help: 'the user that the key acts as' },
  { name: 'team', value: 'NAME', help: 'the team that the key acts as, instead of a user' },
  { name: 'ttl', value: 'DURATION', help: 'how long the key works, as in 12h or 30d' },
  { name: 'display-name', value: 'TEXT', help: 'what people call the key' },
];

export const KEYS_OPTIONS: readonly OptionSpec[] = [...KEY_OPTIONS, ...CONNECTION_OPTIONS];

export const KUBECONFIG_OPTIONS: readonly OptionSpec[] = [
  ...KEY_OPTIONS,
  { name: 'output', value: 'FILE', help: 'a new file for you alone; default: standard output' },
  ...CONNECTION_OPTIONS,
];

export const SECRETS_OPTIONS: readonly OptionSpec[] = [
  { name: 'namespace', value: 'NAMESPACE', default: 'default', help: 'of names without one' },
  { name: 'all-namespaces', help: 'get: list the secrets of all of them' },
  { name: 'project', help: 'project secrets, instead of shared ones' },
  {
    name: 'from-file',
    value: 'FILE',
    help: 'set: the value, byte for byte; default: standard input',
  },
  { name: 'now', help: 'sync: begin a cycle, instead of telling how the last one ended' },
  { name: 'wait', help: 'sync --now: wait for its end; exit 1 when a secret needs attention' },
  { name: 'allow-deletions', help: 'sync --now: agree to however much it deletes' },
  ...CONNECTION_OPTIONS,
];

export const USERS_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'from-file',
    value: 'FILE',
    help: 'the password; default: standard input, or a question',
  },
  { name: 'none', help: 'the user has no password any more' },
  ...CONNECTION_OPTIONS,
];

const SEALING_OPTIONS: readonly OptionSpec[] = [
  KEY_FILES,
  {
    name: 'api-group',
    value: 'GROUP',
    default: 'management.gitplane.dev',
    help: 'name of the management API group',
  },
];

export const SEAL_OPTIONS: readonly OptionSpec[] = [
  { name: 'check', help: 'change nothing; exit 1 when a secret is in the clear' },
  { name: 'init', help: 'make .sops.yaml where there is none' },
  { name: 'recipient', value: 'AGE', multiple: true, help: 'for whom, with --init' },
  ...SEALING_OPTIONS,
];

export const UNSEAL_OPTIONS: readonly OptionSpec[] = [
  { name: 'in-place', help: 'write the files, instead of printing one' },
  ...SEALING_OPTIONS,
];

export const EDIT_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'editor',
    value: 'COMMAND',
    default: 'vi',
    variable: 'EDITOR',
    help: '$EDITOR counts too',
  },
  ...SEALING_OPTIONS,
];

export const REKEY_OPTIONS: readonly OptionSpec[] = [
  { name: 'commit', help: 'commit what was changed, and nothing else' },
  ...SEALING_OPTIONS,
];

export const STATE_OPTIONS: readonly OptionSpec[] = [
  { name: 'from', value: 'WHERE', help: 'where it is: embedded, or etcd://HOST:PORT[,HOST:PORT…]' },
  {
    name: 'to',
    value: 'WHERE',
    help: 'where it is to be: the other one; there must be nothing yet',
  },
  ...SERVE_OPTIONS.filter(({ name }) => ['data-dir', 'branch', 'api-group'].includes(name)),
  ...ETCD_OPTIONS,
];

export const BENCH_OPTIONS: readonly OptionSpec[] = [
  { name: 'manifests', value: 'N', default: '10000', help: 'manifests in the repository' },
  { name: 'rows', value: 'LIST', default: 'all', help: 'rows to measure, as in start,push' },
  { name: 'repetitions', value: 'N', default: '3', help: 'how often what varies is measured' },
  { name: 'format', value: 'FORMAT', default: 'text', help: 'text or json' },
  { name: 'profile', value: 'DIR', help: 'write CPU profiles of the daemons to this folder' },
];

/** Wrong words on the command line: one sentence for the user, exit status 2. */
export class UsageError extends Error {}

export interface ParsedOptions {
  /** Undefined when neither the flag, nor its variable, nor a default says anything. */
  text(name: string): string | undefined;
  /** For options that have a default. */
  required(name: string): string;
  all(name: string): readonly string[];
  readonly operands: readonly string[];
  /** Variables of the process, for what names them. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function parseOptions(
  specs: readonly OptionSpec[],
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ParsedOptions {
  const parsed = parse(specs, args);
  const text = (name: string): string | undefined => {
    const spec = specs.find((candidate) => candidate.name === name);
    const flag = parsed.values[name]?.at(-1);
    const shared = spec?.variable === undefined ? undefined : environment[spec.variable];
    return flag ?? environment[variableOf(name)] ?? shared ?? spec?.default;
  };
  return {
    text,
    required: (name) => {
      const value = text(name);
      if (value === undefined || value === '') throw new UsageError(`--${name} needs a value`);
      return value;
    },
    all: (name) => parsed.values[name] ?? environment[variableOf(name)]?.split(',') ?? [],
    operands: parsed.operands,
    environment,
  };
}

function parse(
  specs: readonly OptionSpec[],
  args: readonly string[],
): { values: Record<string, string[] | undefined>; operands: string[] } {
  const options = Object.fromEntries(
    specs.map(({ name, short, value }) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        multiple: true,
        ...(short === undefined ? {} : { short }),
      },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      strict: true,
    });
    const texts = Object.entries(values).map(([name, given]) => [
      name,
      (Array.isArray(given) ? given : [given]).map(String),
    ]);
    return { values: Object.fromEntries(texts), operands: positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function variableOf(name: string): string {
  return `GITPLANE_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** The table as lines of help. */
export function describeOptions(specs: readonly OptionSpec[]): string {
  const rows = specs.map((spec) => {
    const short = spec.short === undefined ? '' : `-${spec.short}, `;
    const flag = `${short}--${spec.name}${spec.value === undefined ? '' : ` ${spec.value}`}`;
    const fallback = spec.default === undefined ? '' : ` (default: ${spec.default})`;
    return `  ${flag.padEnd(26)} ${spec.help}${fallback}`;
  });
  return rows.join('\n');
}

/** `host:port`, `[::1]:port` or `:port`. */
export function parseAddress(name: string, text: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new UsageError(`Cannot use --${name} "${text}": write HOST:PORT, as in 127.0.0.1:8443`);
  }
  return { host: match[1] ?? (match[2] === '' ? '0.0.0.0' : (match[2] ?? '')), port };
}
