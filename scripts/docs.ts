/**
 * What is written twice because the code says it: tables of fields, options, metrics and layers in
 * the documentation, and the types of the configuration. A table stands between
 * `<!-- generated: <what> <of what> -->` and `<!-- end -->`.
 *
 * `npx tsx scripts/docs.ts` writes them; test/docs/generated.test.ts fails when one is out of date.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMMANDS } from '../src/commands.ts';
import { apiVersionOf, DEFAULT_API_GROUP, type Kind } from '../src/kinds/kind.ts';
import { type SchemaNode, schemaTree } from '../src/kinds/schema-files.ts';
import { buildKindTable } from '../src/kinds/table.ts';
import { createAuditMetrics } from '../src/telemetry/audit-metrics.ts';
import { createConfigMetrics } from '../src/telemetry/config-metrics.ts';
import { createFairnessMetrics } from '../src/telemetry/fairness-metrics.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { createRemoteMetrics } from '../src/telemetry/remote-metrics.ts';
import { createReplicaMetrics } from '../src/telemetry/replica-metrics.ts';
import { createRoleMetrics } from '../src/telemetry/role-metrics.ts';
import { createSecretSyncMetrics } from '../src/telemetry/secret-sync-metrics.ts';
import { createTenantMetrics } from '../src/telemetry/tenant-metrics.ts';
import { coverageTable } from './config-coverage.ts';
import { CONFIG_TYPES_FILE, configTypes } from './config-types.ts';

const ROOT = join(import.meta.dirname, '..');

/** What can stand between the marks, by the first word behind `generated:`. */
const GENERATORS: Readonly<Record<string, (subject: string) => string>> = {
  options: optionTable,
  kinds: (folder) => kindTable(folder),
  facts: (kind) => factTable(kindNamed(kind)),
  columns: (kind) => columnTable(kindNamed(kind)),
  fields: fieldTable,
  metrics: metricTable,
  layers: layerTable,
  coverage: coverageTable,
};

const MARKED = /<!-- generated: (\w+) ?(\S*) -->\n[\s\S]*?<!-- end -->/g;

/** The text of a page with every marked part made anew. Throws for a mark nobody knows. */
export function renderPage(text: string): string {
  return text.replaceAll(MARKED, (_old, what: string, subject: string) => {
    const generate = GENERATORS[what];
    if (generate === undefined) throw new Error(`Nobody generates "${what}"`);
    return `<!-- generated: ${`${what} ${subject}`.trim()} -->\n${generate(subject)}\n<!-- end -->`;
  });
}

/** Every page of the documentation, relative to the root of the repository. */
export function documentationPages(): string[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const below = ['docs', 'examples'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  );
  return [...top, ...below].sort();
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function optionTable(command: string): string {
  const rows = (COMMANDS[command]?.options ?? []).map(
    ({ name, value, default: fallback, help }) => [
      `\`--${name}${value === undefined ? '' : ` ${value}`}\``,
      fallback === undefined ? '' : `\`${fallback}\``,
      help,
    ],
  );
  return table(['Option', 'Default', 'What it is'], rows);
}

const KINDS = buildKindTable(DEFAULT_API_GROUP).kinds;

function kindNamed(name: string): Kind {
  const kind = KINDS.find(({ singular }) => singular === name);
  if (kind === undefined) throw new Error(`There is no kind "${name}"`);
  return kind;
}

/** `folder`: where the pages of the kinds are, seen from the page that holds the table. */
function kindTable(folder: string): string {
  const rows = KINDS.map((kind) => [
    `[${kind.kind}](${folder}/${kind.singular}.md)`,
    `\`${kind.group}\``,
    kind.scope === 'Cluster' ? 'no' : 'yes',
    schemaTree(kind.schema).description ?? '',
  ]);
  return table(['Kind', 'Group', 'In a namespace', 'What it is'], rows);
}

const KEPT_IN: Readonly<Record<Kind['storedIn'], string>> = {
  git: 'git',
  file: 'git, as a file of its own: the API reads it only',
  cluster: 'the state of its cluster',
  nowhere: 'nowhere: answered once',
};

function factTable(kind: Kind): string {
  const code = (texts: readonly string[]): string => texts.map((text) => `\`${text}\``).join(', ');
  const rows = [
    ['apiVersion', `\`${apiVersionOf(kind)}\``],
    ['Plural', code([kind.plural, ...kind.aliases])],
    ['Short names', code(kind.shortNames)],
    ['Namespaced', kind.scope === 'Namespaced' ? 'yes' : 'no'],
    ['Verbs', code(kind.verbs)],
    ['Kept in', KEPT_IN[kind.storedIn]],
    ['PUT without `resourceVersion`', kind.allowUnconditionalUpdate ? 'works' : '422'],
    [
      'Field selectors',
      code(['metadata.name', ...namespaceSelector(kind), ...kind.selectableFields]),
    ],
    [
      'Closed for writes by',
      kind.lockedBy === undefined ? '' : `\`${kind.lockedBy}\` of the Config`,
    ],
    ['Schema', `[\`schemas/${kind.schema}.json\`](../../schemas/${kind.schema}.json)`],
  ];
  const isWritable = kind.verbs.includes('update');
  const shown = rows.filter(
    ([name, value]) => value !== '' && (isWritable || !/^(PUT|Field)/.test(name ?? '')),
  );
  return table(['', ''], shown);
}

function namespaceSelector({ scope }: Kind): string[] {
  return scope === 'Namespaced' ? ['metadata.namespace'] : [];
}

function columnTable(kind: Kind): string {
  const rows = kind.columns.map(({ name, priority = 0, description }) => [
    name,
    priority === 0 ? 'always' : '`-o wide`',
    description,
  ]);
  return table(['Column', 'Shown', 'What it says'], rows);
}

/** Fields of a schema; `metadata` has a page of its own. */
function fieldTable(schema: string): string {
  const rows = new FieldRows();
  rows.add(schemaTree(schema), '');
  return table(['Field', 'Type', 'What it is'], rows.rows);
}

/** Objects with fewer fields are shown wherever they occur, others once. */
const FEWEST_FOLDED = 3;

class FieldRows {
  readonly rows: string[][] = [];
  /** Where an object with these fields was shown. */
  readonly #shown = new Map<string, string>();

  add(node: SchemaNode, prefix: string): void {
    for (const [name, field] of Object.entries(node.properties ?? {})) {
      const path = prefix === '' ? name : `${prefix}.${name}`;
      if (['apiVersion', 'kind', 'metadata'].includes(path)) continue;
      const required = node.required?.includes(name) === true && prefix !== '';
      const inner = innermost(field, path);
      const earlier = this.#earlier(inner);
      const fold = earlier === undefined ? [] : [`The same fields as \`${earlier}\`.`];
      const text = [describe(field, required), ...fold].join(' ');
      this.rows.push([`\`${path}\``, typeOf(field), text]);
      if (earlier === undefined) this.add(inner.node, inner.path);
    }
  }

  #earlier({ node, path }: Inner): string | undefined {
    const fields = Object.keys(node.properties ?? {});
    if (fields.length < FEWEST_FOLDED) return undefined;
    const id = JSON.stringify(node.properties);
    const earlier = this.#shown.get(id);
    if (earlier === undefined) this.#shown.set(id, path);
    return earlier;
  }
}

interface Inner {
  readonly node: SchemaNode;
  readonly path: string;
}

/** The fields below a field: its own, or those of the items of a list or of the values of a map. */
function innermost(node: SchemaNode, path: string): Inner {
  if (node.items !== undefined) return innermost(node.items, `${path}[]`);
  if (typeof node.additionalProperties === 'object' && node.properties === undefined) {
    return innermost(node.additionalProperties, `${path}.*`);
  }
  return { node, path };
}

function typeOf(node: SchemaNode): string {
  if (node.enum !== undefined) {
    const values = node.enum.filter((value) => value !== '');
    return values.map((value) => `\`${String(value)}\``).join(', ');
  }
  if (node.items !== undefined) return `list of ${typeOf(node.items)}`;
  if (typeof node.additionalProperties === 'object') {
    return `map to ${typeOf(node.additionalProperties)}`;
  }
  if (typeof node.type === 'string') return node['format'] === 'date-time' ? 'time' : node.type;
  return Array.isArray(node.type)
    ? node.type.filter((type) => type !== 'null').join(' or ')
    : 'any';
}

function describe(node: SchemaNode, required: boolean): string {
  const isSecret = [node, node.additionalProperties, node.items].some(
    (part) => typeof part === 'object' && (part as SchemaNode)['x-gitplane-secret'] === true,
  );
  return [
    ...(required ? ['Required.'] : []),
    ...(node.deprecated === true ? ['**Deprecated.**'] : []),
    node.description ?? '',
    ...defaultOf(node),
    ...(isSecret ? ['Secret: never in logs and errors.'] : []),
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function defaultOf({ default: value }: SchemaNode): string[] {
  if (value === undefined || (typeof value === 'object' && value !== null)) return [];
  return [`Default: \`${JSON.stringify(value)}\`.`];
}

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly type?: string;
  readonly constructor: { readonly name: string };
}

function metricTable(): string {
  const { registry } = createMetrics({
    objects: () => [],
    lastCommitAge: () => undefined,
    waitingWrites: () => 0,
    hold: () => undefined,
  });
  createRemoteMetrics(registry, () => undefined);
  createTenantMetrics(registry);
  createSecretSyncMetrics(registry);
  createConfigMetrics(registry, () => undefined);
  createAuditMetrics(registry, () => ({ events: new Map(), sinks: {} }));
  const counts = { steps: 0, reloads: 0 };
  createReplicaMetrics(registry, { unconfirmedMs: 0, counts, resourceVersion: 0 });
  createRoleMetrics(registry, () => NO_ROLE);
  createFairnessMetrics(registry, () => ({}));
  const metrics = registry.getMetricsAsArray() as unknown as Described[];
  const rows = metrics
    .filter(({ name }) => name.startsWith('gitplane_'))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((metric) => [
      `\`${metric.name}\``,
      metric.type ?? metric.constructor.name.toLowerCase(),
      metric.labelNames.map((label) => `\`${label}\``).join(', '),
      metric.help,
    ]);
  return table(['Metric', 'Type', 'Labels', 'What it tells'], rows);
}

const NO_ROLE = {
  isLeader: false,
  hasLeader: false,
  replicas: 0,
  terms: 0,
  takeoverSeconds: undefined,
  mirrorLag: undefined,
  logBytes: undefined,
  forcedTrims: 0,
};

/** The table that test/architecture.test.ts holds the imports to, with what each folder owns. */
function layerTable(): string {
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
  apimachinery: 'the words of the Kubernetes API: objects, keys, selectors, field errors, Status',
  endpointsync:
    'patches of tenant clusters: paths, expressions in a sandbox, references, labels, their report',
  fieldmanagement: 'who owns which field of an object, and what an apply makes of it',
  kinds: 'one file a kind, one table of them, and the compiler of `schemas/*.json`',
  signin:
    'signing in through others: connectors, what they say of a person, and what becomes of it',
  audit: 'which requests are recorded, what of them, and the file that the records are in',
  config:
    'the one configuration in force: variables of the environment put in, handed to whoever acts on it',
  git: 'bytes, paths, commits, refs, packs, hooks; knows no kinds',
  manifests: 'YAML to values with positions, edits of YAML in place, the layout of the repository',
  sealing: 'secret values sealed for age recipients in the file format of SOPS, and opened',
  secretsync:
    'secrets that git and a KV store both hold: the merge, the decisions, the client of the store',
  oidcserver: 'the built-in OpenID provider: clients, sessions, tokens, and where they are kept',
  storesync:
    'the loop that keeps secrets and a KV store in step: what is tied, cycles, commits, conditions',
  signatures: 'who signed a commit, the policy of who must, the key that signs ours',
  options: 'what declares an option, a table of them a group of commands, and how they are read',
  admission: 'what makes an object valid, whoever wrote it',
  state: 'objects in memory, the journal, watches, and the engine that keeps them',
  telemetry: 'the logger and the metrics',
  kubeclient:
    'a client of Kubernetes APIs: list and watch with resume, a queue of work, kubeconfigs',
  etcd: 'a client of etcd: transactions, watches, leases; knows nothing of what is kept there',
  replication:
    'replicas: who leads and for how long, the log of the repository, its mirrors, what all share',
  tenantsync: 'the loop of a tenant: Endpoints translated, patched, and kept that way elsewhere',
  auth: 'keys, identities, roles, endpoint tokens, secret files',
  tls: 'the private authority, the server certificate, the kubeconfig',
  catalog: 'desired state as a fold over commits: which object is where, since when',
  registry: 'the one door for reads and writes; turns, the write queue, the judgement of pushes',
  history: 'the past: objects and lists as any commit had them, and what became of an object',
  controllers: 'loops: following the branch, finishing deletions, collecting garbage, old keys',
  server: 'HTTP: filters, handlers, discovery, OpenAPI, watch streams, git over HTTP',
  cli: '`gitplane validate`, `gitplane plan`, the probe of the container',
  bootstrap: 'the data directory, the seed, the first administrator',
  bench: '`gitplane bench`',
  daemon: 'the composition root: everything put together',
};

function main(): void {
  for (const page of documentationPages()) rewrite(page, renderPage);
  rewrite(CONFIG_TYPES_FILE, configTypes);
}

function rewrite(name: string, render: (before: string) => string): void {
  const file = join(ROOT, name);
  const before = readFileSync(file, 'utf8');
  const after = render(before);
  if (after === before) return;
  writeFileSync(file, after);
  process.stdout.write(`${name}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
