/** What the bundle has in place of `kinds/schema/schema-compiler.js`: the schemas, compiled when it is built. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { _ } from 'ajv';
import standaloneCode from 'ajv/dist/standalone/index.js';

/** For editors alone: it is any of the others. */
const NO_FUNCTION = ['manifest'];

/** The source of a module that exports `validatorOf`; `dist`: what `tsc` has written. */
export async function schemaFunctions(dist) {
  const load = (name) => import(pathToFileURL(join(dist, 'kinds', 'schema', name)).href);
  const { newCompiler } = await load('schema-compiler.js');
  const { schemaNames } = await load('schema-files.js');
  const formats = _`require("./schema-formats.js").formats`;
  const ajv = newCompiler({ source: true, lines: true, formats });
  const wanted = schemaNames().filter((name) => !NO_FUNCTION.includes(name));
  const names = Object.fromEntries(wanted.map((name) => [name, name]));
  return `const functions = Object.create(null);
(function (exports) {
${standaloneCode.default(ajv, names)}
})(functions);
export const validatorOf = (name) => functions[name];
`;
}
