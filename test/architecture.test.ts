/**
 * Holds the plan of the house (docs/architecture.md): who may import whom, no circles of files or
 * folders, no kind singled out outside kinds/. One table reads better than a lint override a folder.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

/** What each folder of src/ may import, lowest layer first. Files at the root may import anything
 * but `daemon`, and the folders below may import no file at the root but those in ROOT_FILES. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  options: [],
  files: [],
  concurrency: [],
  outbound: ['apimachinery'],
  scheduler: ['concurrency', 'apimachinery'],
  apimachinery: [],
  'endpoint-patches': ['concurrency', 'apimachinery'],
  'field-management': ['apimachinery'],
  kinds: ['apimachinery', 'endpoint-patches', 'secrets-merge'],
  git: ['concurrency', 'files'],
  manifests: ['apimachinery'],
  sealing: ['apimachinery', 'manifests'],
  'secrets-merge': ['apimachinery'],
  'secret-store-client': ['concurrency', 'outbound', 'apimachinery', 'secrets-merge'],
  signatures: ['concurrency', 'apimachinery', 'git'],
  admission: ['apimachinery', 'kinds', 'manifests'],
  etcd: ['concurrency'],
  state: ['concurrency', 'files', 'apimachinery', 'etcd'],
  outbox: ['concurrency', 'apimachinery', 'state'],
  forges: ['outbound', 'apimachinery', 'outbox'],
  notifications: ['outbound', 'apimachinery', 'outbox', 'state'],
  telemetry: ['concurrency'],
  'kubernetes-client': ['concurrency', 'outbound', 'apimachinery'],
  'tenant-sync': ['concurrency', 'apimachinery', 'endpoint-patches', 'kubernetes-client'],
  auth: ['concurrency', 'files', 'apimachinery', 'kinds'],
  config: ['apimachinery', 'kinds'],
  costs: ['apimachinery', 'kinds', 'config', 'kubernetes-client'],
  audit: ['concurrency', 'apimachinery', 'kinds', 'config'],
  'sign-in': ['concurrency', 'outbound', 'files', 'apimachinery', 'kinds', 'config', 'auth'],
  tls: ['apimachinery', 'auth'],
  replication: [
    'concurrency',
    'files',
    'apimachinery',
    'etcd',
    'git',
    'state',
    'telemetry',
    'auth',
    'tls',
  ],
  catalog: ['concurrency', 'apimachinery', 'kinds', 'git', 'manifests', 'sealing', 'admission'],
  registry: [
    'concurrency',
    'apimachinery',
    'field-management',
    'kinds',
    'git',
    'manifests',
    'sealing',
    'admission',
    'catalog',
    'state',
  ],
  history: [
    'concurrency',
    'apimachinery',
    'kinds',
    'git',
    'manifests',
    'catalog',
    'registry',
    'state',
  ],
  'oidc-server': ['apimachinery', 'kinds', 'config', 'state', 'registry'],
  'secret-store-sync': [
    'concurrency',
    'files',
    'apimachinery',
    'secrets-merge',
    'secret-store-client',
    'kinds',
    'config',
    'state',
    'telemetry',
    'registry',
    'history',
  ],
  controllers: [
    'concurrency',
    'apimachinery',
    'kinds',
    'git',
    'kubernetes-client',
    'registry',
    'state',
    'telemetry',
  ],
  client: [],
  console: ['client'],
  server: [
    'console',
    'concurrency',
    'apimachinery',
    'kinds',
    'git',
    'manifests',
    'auth',
    'config',
    'costs',
    'audit',
    'sign-in',
    'oidc-server',
    'registry',
    'history',
    'state',
    'telemetry',
    'endpoint-patches',
    'tenant-sync',
    'secret-store-sync',
  ],
  cli: [
    'options',
    'concurrency',
    'files',
    'apimachinery',
    'endpoint-patches',
    'tenant-sync',
    'kinds',
    'git',
    'manifests',
    'sealing',
    'signatures',
    'auth',
    'tls',
    'catalog',
    'registry',
    'history',
    'state',
  ],
  bootstrap: [
    'files',
    'apimachinery',
    'kinds',
    'git',
    'manifests',
    'sealing',
    'auth',
    'catalog',
    'registry',
    'state',
  ],
  daemon: ['*'],
};
const ROOT_FILES = ['version.ts'];

const src = join(import.meta.dirname, '../src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /\.tsx?$/.test(file),
);

function importsOf(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, specifier = '']) =>
    relative(src, join(src, file, '..', specifier)),
  );
}

describe('layers', () => {
  test.each(files.filter((file) => file.includes('/')))('%s keeps to its layer', (file) => {
    const [folder = ''] = file.split('/');
    const allowed = MAY_IMPORT[folder];
    expect(allowed, `${folder}/ has no row in the table`).toBeDefined();

    const wrong = importsOf(file).filter((target) => {
      const [other = ''] = target.split('/');
      if (other === folder || allowed?.includes('*')) return false;
      if (!target.includes('/')) return !ROOT_FILES.includes(target);
      return !allowed?.includes(other);
    });

    expect(wrong).toEqual([]);
  });

  test('every row of the table names a folder that exists', () => {
    const folders = new Set(
      files.filter((file) => file.includes('/')).map((file) => file.split('/')[0]),
    );

    expect(Object.keys(MAY_IMPORT).filter((folder) => !folders.has(folder))).toEqual([]);
  });
});

describe('doors', () => {
  const folders = Object.keys(MAY_IMPORT);
  const isDoor = (file: string): boolean => /^[^/]+\/index\.ts$/.test(file);

  /** No folder imports these: `commands.ts` loads their files late. */
  const WITHOUT_DOOR = ['cli', 'daemon'];

  test.each(folders)('%s/ has a README.md and a door', (folder) => {
    const names = WITHOUT_DOOR.includes(folder) ? ['README.md'] : ['README.md', 'index.ts'];
    const missing = names.filter((name) => !existsSync(join(src, folder, name)));

    expect(missing).toEqual([]);
  });

  /** A late import names a file, so that a start loads nothing else: see `commands.ts`. */
  test.each(files.filter((file) => file.includes('/')))('%s imports doors alone', (file) => {
    const text = readFileSync(join(src, file), 'utf8');
    const passed = [...text.matchAll(/^(?:import|export) [^;]*?from '(\.[^']+)'/gm)]
      .map(([, specifier = '']) => relative(src, join(src, file, '..', specifier)))
      .filter((target) => target.includes('/') && target.split('/')[0] !== file.split('/')[0])
      .filter((target) => !isDoor(target));

    expect(passed).toEqual([]);
  });

  test.each(files.filter(isDoor))('%s holds exports of its folder and nothing else', (door) => {
    const text = readFileSync(join(src, door), 'utf8');
    const rest = text
      .replace(/^\/\*\*.*?\*\/\n/s, '')
      .replace(/^export (?:type )?\{[^}]*\} from '\.\/[^']+';\n/gm, '');

    expect(rest.trim()).toBe('');
  });
});

describe('files', () => {
  test('none imports itself by way of others, not even for a type', () => {
    const imports = new Map(files.map((file) => [file, importsOf(file)]));
    const done = new Set<string>();
    const circles: string[] = [];
    const follow = (file: string, way: readonly string[]): void => {
      if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' → '));
      else if (!done.has(file)) {
        for (const target of imports.get(file) ?? []) follow(target, [...way, file]);
        done.add(file);
      }
    };
    for (const file of files) follow(file, []);

    expect(circles).toEqual([]);
  });
});

describe('kinds', () => {
  /** `if (kind === 'Team')` and the like: behaviour of a kind belongs into its own file. */
  const SINGLED_OUT =
    /(?:===|!==|case)\s*['"](?:Team|SharedSecret|OwnedAccessKey|DirectClusterEndpointToken|Config|User|ProjectSecret|Role|ClusterRole|RoleBinding|ClusterRoleBinding)['"]/;

  /** Subjects and roleRefs of RBAC name kinds as data; reading them is what this file is for. */
  const READS_RBAC_REFERENCES = ['auth/rbac/binding-index.ts'];
  const judged = files.filter(
    (file) => !/^kinds\//.test(file) && !READS_RBAC_REFERENCES.includes(file),
  );

  test.each(judged)('%s singles out no kind', (file) => {
    const lines = readFileSync(join(src, file), 'utf8').split('\n');

    expect(lines.filter((line) => SINGLED_OUT.test(line))).toEqual([]);
  });
});
