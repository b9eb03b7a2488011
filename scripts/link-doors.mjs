/**
 * Imports of a door (`index.ts` of a folder of `src/`), linked to the files that declare the names.
 * Source reads one door per folder; a process loads only the files that it uses.
 * Used by `bundle.mjs` on `dist/`, and by `vitest.config.ts` on `src/`.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

const EXPORT = /^export (?:type )?\{([^}]*)\} from '([^']+)';/gm;
const IMPORT = /^(import|export) (type )?\{([^}]*)\} from '([^']*\/index\.[jt]s)';/gm;

const namesOf = (clause) =>
  clause
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** File of each name that a door exports. A door holds `export { names } from 'file'` and nothing else. */
function readDoor(door) {
  const files = new Map();
  for (const [, clause = '', file = ''] of readFileSync(door, 'utf8').matchAll(EXPORT)) {
    for (const name of namesOf(clause))
      files.set(name.replace(/^type /, ''), join(dirname(door), file));
  }
  return files;
}

/** Returns a function `(file, text) => text` for files below `root`. Doors are read once. */
export function doorLinker(root) {
  const doors = new Map(
    readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) => ['ts', 'js'].map((ending) => join(root, name, `index.${ending}`)))
      .filter((door) => existsSync(door))
      .map((door) => [door, readDoor(door)]),
  );
  return (file, text) =>
    text.replace(IMPORT, (statement, word, type = '', clause, specifier) => {
      const files = doors.get(join(dirname(file), specifier));
      if (files === undefined) return statement;
      const byFile = new Map();
      for (const name of namesOf(clause)) {
        const target = fileOf(files, name, specifier);
        byFile.set(target, [...(byFile.get(target) ?? []), name]);
      }
      return [...byFile]
        .map(([target, names]) => {
          const path = relative(dirname(file), target).split(sep).join('/');
          const own = path.startsWith('.') ? path : `./${path}`;
          return `${word} ${type}{ ${names.join(', ')} } from '${own}';`;
        })
        .join(' ');
    });
}

function fileOf(files, name, specifier) {
  const found = files.get(name.replace(/^type /, '').replace(/ as \w+$/, ''));
  if (found === undefined) throw new Error(`${specifier} exports no ${name}`);
  return found;
}

/** Links every file of `dist/` in place. */
export function linkFolder(root) {
  const link = doorLinker(root);
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.js')) continue;
    const file = join(root, name);
    const text = readFileSync(file, 'utf8');
    const linked = link(file, text);
    if (linked !== text) writeFileSync(file, linked);
  }
}
