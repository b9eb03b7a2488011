/**
 * Packages whose code is in the bundles, as esbuild lists their files: `dist/bundle/packages.json` for the
 * bill of materials, and `dist/bundle/THIRD-PARTY-LICENSES.txt`, which their licences ask for.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;
const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;

/** @param {readonly { inputs: object }[]} metafiles */
export function writePackages(root, metafiles) {
  const folders = new Set(
    metafiles
      .flatMap(({ inputs }) => Object.keys(inputs))
      .flatMap((file) => FOLDER.exec(file)?.[1] ?? []),
  );
  const packages = [...folders]
    .map((folder) => describePackage(join(root, folder)))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const unique = [...new Map(packages.map((one) => [one.id, one])).values()];
  const bundle = join(root, 'dist', 'bundle');
  const ids = unique.map(({ id }) => id);
  writeFileSync(join(bundle, 'packages.json'), `${JSON.stringify(ids, null, 2)}\n`);
  const texts = unique.map(({ id, licence, text }) => `${id} (${licence})\n\n${text.trim()}\n`);
  writeFileSync(join(bundle, 'THIRD-PARTY-LICENSES.txt'), texts.join(`\n${'-'.repeat(80)}\n\n`));
}

function describePackage(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder).filter((file) => LICENCE_FILE.test(file));
  const text = files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
  return { id: `${name}@${version}`, licence: license?.type ?? license ?? 'see below', text };
}
