/** A platform with a hostile text in each place that takes texts of other people, made by pushes and requests. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { ClusterOfPods } from './cluster-of-pods.ts';
import { API, type Daemon, RBAC, startDaemon } from './daemon.ts';

/** Ends an attribute and an element, runs a script in three ways, has no white space, and names its place. */
export function hostile(place: string): string {
  return `${place}"'><script>document.title=1</script><img/src=x/onerror="document.title=1"><a/href="javascript:document.title=1">`;
}

/** For names of files and branches: neither a slash, a colon nor white space. */
export function hostileName(place: string): string {
  return `${place}"><img-src=x><svg&onload="document.title=1">`;
}

/** Turns the letters behind it around: `txt.exe` is shown as `exe.txt`. */
export const OVERRIDE = '\u202e';
export const LONG_WORD = 'W'.repeat(2000);

export interface HostilePlatform {
  readonly daemon: Daemon;
  /** Commit of the degraded team. */
  readonly revision: string;
  stop(): Promise<void>;
}

const GROUP = 'management.gitplane.dev/v1';
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="parent.document.title=1"><script>parent.document.title=1</script></svg>`;

const CONFIG = stringify({
  audit: {
    enabled: true,
    path: 'audit.log',
    dataStoreEndpoint: 'sqlite://audit.db',
    policy: { rules: [{ level: 'Metadata' }] },
  },
  costControl: {
    enabled: true,
    settings: {
      priceCurrency: hostile('currency'),
      averageCPUPricePerNode: { price: 1, timePeriod: 'Monthly' },
    },
  },
  uiSettings: {
    logoURL: `data:image/svg+xml;base64,${Buffer.from(SVG).toString('base64')}`,
    legalTemplate: `<p onclick="document.title=1">legal</p><a href="javascript:document.title=1">link</a>${hostile('legal')}`,
    navBarButtons: [{ position: 'TopStart', text: hostile('button'), link: '/console' }],
  },
});

const PATCHES = stringify({
  external: { gitplane: { source: { kubeconfig: { file: 'blue' } } } },
  sync: {
    toHost: {
      services: { enabled: false },
      endpoints: {
        patches: [
          {
            path: 'metadata.labels["team"]',
            expression: `(() => { throw new Error(${JSON.stringify(hostile('expression'))}); })()`,
          },
        ],
      },
    },
  },
});

/** The API server of the tenant refuses with a hostile message. */
async function hostileCluster(): Promise<ClusterOfPods> {
  const cluster = await ClusterOfPods.start();
  cluster.judge = (_path, response) => {
    response.writeHead(403, { 'content-type': 'application/json' });
    const message = hostile('cluster');
    response.end(JSON.stringify({ kind: 'Status', reason: 'Forbidden', message, code: 403 }));
    return true;
  };
  return cluster;
}

export async function startHostilePlatform(): Promise<HostilePlatform> {
  const args = ['--prune-budget-objects', '1', '--prune-budget-percent', '1'];
  const [daemon, cluster] = await Promise.all([startDaemon({ args }), hostileCluster()]);
  const folder = join(daemon.dataDir, 'kubeconfigs');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'blue'), cluster.kubeconfig);
  await plantObjects(daemon);
  const revision = await plantCommits(daemon);
  await plantEvents(daemon);
  return {
    daemon,
    revision,
    stop: async () => {
      await daemon.stop();
      cluster.stop();
    },
  };
}

async function made(
  daemon: Daemon,
  path: string,
  body: object,
): Promise<ReturnType<JSON['parse']>> {
  const { code, text } = await daemon.call('POST', path, { body });
  if (code !== 201 && code !== 200) throw new Error(`${path}: ${code} ${text}`);
  return JSON.parse(text);
}

async function plantObjects(daemon: Daemon): Promise<void> {
  const type = 'application/merge-patch+json';
  const body = { spec: { raw: CONFIG } };
  const configured = await daemon.call('PATCH', `${API}/config/platform`, { type, body });
  if (configured.code !== 200) throw new Error(configured.text);
  await made(daemon, `${API}/teams`, {
    metadata: { name: 'planted', annotations: { note: hostile('annotation') } },
    spec: {
      displayName: hostile('team'),
      description: hostile('description'),
      users: [hostile('member')],
      groups: [hostile('group')],
    },
  });
  await made(daemon, `${API}/namespaces/payments/sharedsecrets`, {
    metadata: { name: 'planted' },
    spec: {
      displayName: hostile('secret'),
      access: [{ verbs: ['get'], users: [hostile('reader')] }],
      data: { key: Buffer.from(hostile('value')).toString('base64') },
    },
  });
  await made(daemon, `${API}/ownedaccesskeys`, {
    metadata: { name: 'planted' },
    spec: { user: 'ada', displayName: hostile('key') },
  });
  await made(daemon, `${RBAC}/clusterrolebindings`, {
    metadata: { name: 'planted' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'planted' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: hostile('subject') }],
  });
  await made(daemon, `${RBAC}/clusterroles`, {
    metadata: { name: 'planted' },
    rules: [{ apiGroups: ['*'], resources: ['teams'], verbs: ['get'] }],
  });
  await made(daemon, `${API}/teams`, {
    metadata: { name: 'long', annotations: { note: LONG_WORD } },
    spec: { displayName: LONG_WORD.slice(0, 250), description: LONG_WORD },
  });
}

/** As git writes them, without its changes of names. The server checks them as git does. */
async function rawCommit(
  daemon: Daemon,
  clone: string,
  of: { readonly place: string; readonly message: string; readonly author: string },
): Promise<string> {
  const git = gitIn(daemon, clone);
  await git('add', '-A');
  const tree = await git('write-tree');
  const parent = await git('rev-parse', 'HEAD');
  const now = `${Math.floor(Date.now() / 1000)} +0000`;
  const text = `tree ${tree}\nparent ${parent}\nauthor ${of.author} <${of.place}"onclick=1@x.example> ${now}\ncommitter ${of.author} <c@x.example> ${now}\n\n${of.message}\n`;
  const file = join(clone, '.git', 'raw-commit');
  writeFileSync(file, text);
  const id = await git('hash-object', '-t', 'commit', '-w', '--literally', file);
  await git('reset', '-q', '--hard', id);
  return id;
}

function gitIn(daemon: Daemon, folder: string): (...args: string[]) => Promise<string> {
  return async (...args) => {
    const { code, stdout, stderr } = await daemon.git(args, folder);
    if (code !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };
}

async function plantCommits(daemon: Daemon): Promise<string> {
  const clone = await daemon.clone();
  const git = gitIn(daemon, clone);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    writeFileSync(join(clone, path), text);
  };
  const team = (name: string, spec: object): string =>
    stringify({ apiVersion: GROUP, kind: 'Team', metadata: { name }, spec });
  write('tenants/blue/vcluster.yaml', PATCHES);
  // A request would have the character escaped in the file.
  write(
    'teams/deceiving.yaml',
    team('deceiving', { displayName: 'deceiving NAME' }).replace('NAME', `${OVERRIDE}txt.exe`),
  );
  write(`teams/${hostileName('file')}.yaml`, team('filed', { displayName: 'Filed' }));
  await rawCommit(daemon, clone, {
    place: 'mail',
    author: `${hostileName('author').replace(/[<>]/g, '')}`,
    message: `${hostile('subject-line')}\n\n${hostile('body')}`,
  });
  await git('push', '-q', 'origin', 'HEAD:main');
  await git('tag', hostileName('tag'));
  await git('push', '-q', 'origin', hostileName('tag'));
  await git('checkout', '-q', '-b', hostileName('branch'));
  write('teams/planned.yaml', team('planned', { displayName: hostile('planned') }));
  write(
    `teams/${hostileName('problem-file')}.yaml`,
    `${team('bad', { [hostile('bad-field')]: 1 })}`,
  );
  await rawCommit(daemon, clone, {
    place: 'branch-mail',
    author: `branch-author ${OVERRIDE}nimda`,
    message: hostile('branch-subject'),
  });
  await git('push', '-q', 'origin', `HEAD:refs/heads/${hostileName('branch')}`);
  await daemon.git(['push', '-q', 'origin', 'HEAD:main'], clone);
  await git('checkout', '-q', '-B', 'main', 'origin/main');
  // No hook judges what is moved beside it.
  const move = async (): Promise<void> => {
    const bare = gitIn(daemon, join(daemon.dataDir, 'repo.git'));
    await bare('fetch', '-q', clone, 'main');
    await bare('update-ref', 'refs/heads/main', await git('rev-parse', 'HEAD'));
  };
  write('teams/payments.yaml', team('payments', { [hostile('field')]: 'x' }));
  const revision = await rawCommit(daemon, clone, {
    place: 'degrading-mail',
    author: 'degrading-author"onclick="document.title=1',
    message: hostile('degrading'),
  });
  await move();
  for (let tries = 0; tries < 200; tries++) {
    const { text } = await daemon.call('GET', `${API}/teams/payments`);
    if (text.includes('Degraded')) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  rmSync(join(clone, 'teams'), { recursive: true });
  await rawCommit(daemon, clone, { place: 'x', author: 'x', message: 'Remove every team' });
  await move();
  return revision;
}

async function plantEvents(daemon: Daemon): Promise<void> {
  const { metadata } = (await daemon.call('GET', `${API}/teams/planted`)).json();
  await made(daemon, '/kubernetes/management/api/v1/namespaces/default/events', {
    metadata: { name: 'planted', namespace: 'default' },
    involvedObject: {
      apiVersion: GROUP,
      kind: 'Team',
      name: 'planted',
      uid: metadata.uid,
      namespace: 'default',
    },
    reason: hostile('event-reason'),
    message: hostile('event-message'),
    type: 'Warning',
    lastTimestamp: new Date().toISOString(),
  });
  await made(daemon, '/suspensions/tenants', { reason: hostile('suspension') });
  const name = encodeURIComponent(hostileName('asked'));
  await daemon.call('GET', `${API}/teams/${name}?from=${hostileName('asked-raw')}`, {
    headers: { 'user-agent': hostile('agent') },
  });
}
