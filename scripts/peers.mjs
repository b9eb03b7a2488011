/**
 * Programs that tests talk to and the repository does not bring. A test whose peer is missing is skipped;
 * `missingPeers` says so at the end of a run, and `node scripts/peers.mjs` prints the Debian packages.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BUILT_API_SERVER = fileURLToPath(
  new URL('../node_modules/.cache/gitplane/kube-apiserver', import.meta.url),
);
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gitplane');

function has(...programs) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', join(CACHE, 'bin')];
  return programs.every((name) => folders.some((folder) => existsSync(join(folder, name))));
}

function phpHas(...modules) {
  const { stdout } = spawnSync('php', ['-m'], { encoding: 'utf8', timeout: 10_000 });
  return modules.every((name) => (stdout ?? '').split('\n').includes(name));
}

/**
 * A program that tests talk to and the repository does not bring.
 *
 * @typedef {object} Peer
 * @property {string} name
 * @property {() => boolean} isThere
 * @property {RegExp} marker Text of test files that need it.
 * @property {readonly string[]} [packages] Debian packages.
 * @property {string} [remedy] The way to get it without a Debian package.
 */

/** @type {readonly Peer[]} */
const PEERS = [
  { name: 'git', isThere: () => has('git'), marker: /./, packages: ['git'] },
  { name: 'curl', isThere: () => has('curl'), marker: /\bcurl\b/, packages: ['curl'] },
  { name: 'openssl', isThere: () => has('openssl'), marker: /openssl/, packages: ['openssl'] },
  { name: 'gpg', isThere: () => has('gpg'), marker: /\bgpg\b/, packages: ['gpg'] },
  {
    name: 'ssh',
    isThere: () => has('ssh', 'ssh-keygen'),
    marker: /\bssh\b/,
    packages: ['openssh-client'],
  },
  { name: 'sshd', isThere: () => has('sshd'), marker: /SSHD/, packages: ['openssh-server'] },
  {
    name: 'SimpleSAMLphp',
    isThere: () => existsSync('/usr/share/simplesamlphp') && phpHas('dom') && phpHas('mbstring'),
    marker: /SIMPLESAMLPHP/,
    packages: ['simplesamlphp', 'php-cli', 'php-xml', 'php-mbstring'],
  },
  {
    name: 'chromium',
    isThere: () => existsSync('/usr/bin/chromium'),
    marker: /HAS_BROWSER/,
    packages: ['chromium'],
  },
  {
    name: 'Apache with mod_auth_openidc',
    isThere: () => existsSync('/usr/lib/apache2/modules/mod_auth_openidc.so'),
    marker: /mod_auth_openidc/,
    packages: ['apache2-bin', 'libapache2-mod-auth-openidc'],
  },
  {
    name: 'etcd',
    isThere: () => has('etcd', 'etcdctl'),
    marker: /ETCD_MISSING/,
    packages: ['etcd-server', 'etcd-client'],
  },
  {
    name: 'iproute2',
    isThere: () => has('ip', 'tc', 'ss'),
    marker: /namespaces|network/,
    packages: ['iproute2'],
  },
  {
    name: 'strace',
    isThere: () => has('strace'),
    marker: /strace|slow-disk/,
    packages: ['strace'],
  },
  {
    name: 'PostgreSQL',
    isThere: () => existsSync('/usr/lib/postgresql/15/bin/initdb'),
    marker: /hasPostgres/,
    packages: ['postgresql-15'],
  },
  {
    name: 'kubectl',
    isThere: () => has('kubectl'),
    marker: /kubectl|canRunPages|runPage/i,
    remedy: 'kubectl 1.27 or newer on the PATH: https://kubernetes.io/docs/tasks/tools',
  },
  {
    name: 'sops',
    isThere: () => has('sops'),
    marker: /findSops/,
    remedy: 'go install github.com/getsops/sops/v3/cmd/sops@v3.13.2',
  },
  {
    name: 'OpenBao',
    isThere: () => has('bao'),
    marker: /OPENBAO_MISSING|OPENBAO_RELEASES/,
    remedy: 'bash scripts/openbao.sh',
  },
  {
    name: 'Gitea',
    isThere: () => existsSync(join(CACHE, 'gitea/gitea')),
    marker: /GITEA_MISSING/,
    remedy: 'bash scripts/gitea.sh',
  },
  {
    name: 'Go',
    isThere: () => has('go'),
    marker: /structuredMerge/,
    remedy: 'Go 1.22 or newer: https://go.dev/dl',
  },
  {
    name: 'helm',
    isThere: () => has('helm'),
    marker: /findProgram\('helm'\)/,
    remedy: 'GOBIN=~/.cache/gitplane/bin go install helm.sh/helm/v3/cmd/helm@v3.19.0',
  },
  {
    name: 'systemd-analyze',
    isThere: () => has('systemd-analyze'),
    marker: /findProgram\('systemd-analyze'\)/,
    packages: ['systemd'],
  },
  {
    name: 'promtool',
    isThere: () => has('promtool'),
    marker: /hasPromtool/,
    packages: ['prometheus'],
  },
  {
    name: 'kube-apiserver',
    isThere: () => existsSync(BUILT_API_SERVER),
    marker: /hasApiServer/,
    remedy: 'npm run kubernetes (builds it and runs these tests)',
  },
  {
    name: 'clients in other languages',
    isThere: () => process.env.GITPLANE_CLIENTS !== undefined,
    marker: /GITPLANE_CLIENTS/,
    remedy: 'npm run clients (runs these tests)',
  },
  {
    name: 'time for long fault runs',
    isThere: () => process.env.GITPLANE_FAULTS_SECONDS !== undefined,
    marker: /GITPLANE_FAULTS_SECONDS|isLong/,
    remedy: 'npm run faults (runs these tests)',
  },
  {
    name: 'a user other than root',
    isThere: () => process.getuid?.() !== 0,
    marker: /getuid/,
    remedy: 'npm test as a user without rights',
  },
];

/** @returns {readonly Peer[]} */
export function missingPeers() {
  return PEERS.filter(({ isThere }) => !isThere());
}

/**
 * One line to run as root; empty where no package is missing.
 *
 * @param {readonly Peer[]} peers
 */
export function installLine(peers) {
  const packages = peers.flatMap(({ packages = [] }) => packages);
  return packages.length === 0
    ? ''
    : `apt-get install -y --no-install-recommends ${packages.join(' ')}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(
    `${missingPeers()
      .flatMap(({ packages = [] }) => packages)
      .join(' ')}\n`,
  );
}
