/**
 * Files of a release below `build/release/`: the package, its bill of materials (CycloneDX) and their
 * checksums. It publishes nothing; docs/releasing.md has the steps around it.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = process.argv[2] ?? join(root, 'build', 'release');
const MOST_BYTES = 256 * 1024 * 1024;

const npm = (...args) =>
  execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: MOST_BYTES });

/**
 * Components whose code is in the package or installed beside it. `npm sbom` lists what the lock file has, and
 * the libraries in the bundles are dependencies of the build.
 */
function billOfMaterials() {
  const all = JSON.parse(npm('sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'));
  const bundled = JSON.parse(readFileSync(join(root, 'dist', 'bundle', 'packages.json'), 'utf8'));
  const installed = JSON.parse(
    npm('sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--omit', 'dev'),
  );
  const idOf = ({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`;
  const wanted = new Set([...bundled, ...installed.components.map(idOf)]);
  const seen = new Set();
  const components = all.components.filter((component) => {
    const id = idOf(component);
    if (!wanted.has(id) || seen.has(id)) return false;
    seen.add(id);
    return true;
  });
  const missing = [...wanted].filter((id) => !seen.has(id));
  if (missing.length > 0) throw new Error(`Not in the lock file: ${missing.join(', ')}`);
  const refs = new Set([
    all.metadata.component['bom-ref'],
    ...components.map((component) => component['bom-ref']),
  ]);
  const dependencies = all.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.filter((one) => refs.has(one)),
    }));
  // npm takes the name of the folder.
  const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const component = {
    ...all.metadata.component,
    name,
    version,
    purl: `pkg:npm/${name}@${version}`,
  };
  return { ...all, metadata: { ...all.metadata, component }, components, dependencies };
}

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const [{ filename }] = JSON.parse(
  npm('pack', '--json', '--ignore-scripts', '--pack-destination', target),
);
const materials = `${JSON.stringify(billOfMaterials(), null, 2)}\n`;
writeFileSync(join(target, filename.replace(/\.tgz$/, '.cdx.json')), materials);
const sums = readdirSync(target)
  .sort()
  .map((name) => {
    const digest = createHash('sha256').update(readFileSync(join(target, name)));
    return `${digest.digest('hex')}  ${name}\n`;
  });
writeFileSync(join(target, 'SHA256SUMS'), sums.join(''));
process.stdout.write(sums.join(''));
