/** Who may import whom, and what each folder owns, as a table. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from './markdown-table.ts';

const ROOT = join(import.meta.dirname, '..');

/** The table that test/architecture.test.ts holds the imports to, with what each folder owns. */
export function layerTable(): string {
  const source = readFileSync(join(ROOT, 'test/architecture.test.ts'), 'utf8');
  const body = /const MAY_IMPORT[^{]*\{([\s\S]*?)\n\};/.exec(source)?.[1] ?? '';
  const rows = [...body.matchAll(/^ {2}(\w+): \[([\s\S]*?)\]/gm)].map(
    ([, folder = '', list = '']) => {
      const imports = [...list.matchAll(/'([^']+)'/g)].map(([, name = '']) => name);
      const may = imports.includes('*') ? 'everything' : imports.join(', ');
      return [`\`${folder}/\``, LAYERS[folder] ?? '', may === '' ? 'nothing of ours' : may];
    },
  );
  return table(['Folder', 'What it owns', 'May import'], rows);
}

const LAYERS: Readonly<Record<string, string>> = {
  scheduler:
    'jobs of a table at times of cron, on node-cron: never twice at once, made up for after a stop',
  outbound: 'addresses that no request of the daemon goes to, whatever names them',
  apimachinery: 'the words of the Kubernetes API: objects, keys, selectors, field errors, Status',
  'endpoint-patches':
    'patches of tenant clusters: paths, expressions in a sandbox, references, labels, their report',
  'field-management': 'who owns which field of an object, and what an apply makes of it',
  kinds: 'one file a kind, one table of them, and the compiler of `schemas/*.json`',
  'sign-in':
    'signing in through others: connectors, what they say of a person, and what becomes of it',
  audit: 'which requests are recorded, what of them, and the file that the records are in',
  config:
    'the one configuration in force: variables of the environment put in, handed to whoever acts on it',
  git: 'bytes, paths, commits, refs, packs, hooks; knows no kinds',
  manifests: 'YAML to values with positions, edits of YAML in place, the layout of the repository',
  sealing: 'secret values sealed for age recipients in the file format of SOPS, and opened',
  'secrets-merge':
    'three-way merge of secrets that git and a KV store both hold: decisions, intents, fingerprints',
  'secret-store-client':
    'client of the KV store: sign-in, versions 1 and 2, listings, circuit breaker',
  'oidc-server': 'the built-in OpenID provider: clients, sessions, tokens, and where they are kept',
  'secret-store-sync':
    'the loop that keeps secrets and a KV store in step: what is tied, cycles, commits, conditions',
  signatures: 'who signed a commit, the policy of who must, the key that signs ours',
  options: 'what declares an option, a table of them a group of commands, and how they are read',
  admission: 'what makes an object valid, whoever wrote it',
  state: 'objects in memory, the journal, watches, and the engine that keeps them',
  telemetry: 'the logger and the metrics',
  'kubernetes-client':
    'a client of Kubernetes APIs: list and watch with resume, a queue of work, kubeconfigs',
  etcd: 'a client of etcd: transactions, watches, leases; knows nothing of what is kept there',
  replication:
    'replicas: who leads and for how long, the log of the repository, its mirrors, what all share',
  'tenant-sync': 'the loop of a tenant: Endpoints translated, patched, and kept that way elsewhere',
  auth: 'keys, identities, roles, endpoint tokens, secret files',
  tls: 'the private authority, the server certificate, the kubeconfig',
  catalog: 'desired state as a fold over commits: which object is where, since when',
  registry: 'the one door for reads and writes; turns, the write queue, the judgement of pushes',
  history: 'the past: objects and lists as any commit had them, and what became of an object',
  controllers: 'loops: following the branch, finishing deletions, collecting garbage, old keys',
  server: 'HTTP: filters, handlers, discovery, OpenAPI, watch streams, git over HTTP',
  cli: '`gitplane validate`, `gitplane plan`, the probe of the container',
  bootstrap: 'the data directory, the seed, the first administrator',
  daemon: 'the composition root: everything put together',
};
