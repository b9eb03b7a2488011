/** The options of the daemon. What is read from them is checked in src/daemon. */
import type { OptionSpec } from './option-spec.ts';
import { API_GROUP, ETCD_OPTIONS, REFERENCE_NAMES } from './shared-options.ts';

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
  API_GROUP,
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
