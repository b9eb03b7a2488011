/** `gitplane crds`: the kinds of this platform as CustomResourceDefinitions. */
import { stringify } from 'yaml';
import type { JsonObject } from '../apimachinery/index.ts';
import { buildKindTable, customResourceDefinition } from '../kinds/index.ts';
import { type ParsedOptions, readChoice } from '../options/index.ts';

/** Prints one document a kind; as JSON one List. Resolves to the exit status. */
export async function crds(
  options: ParsedOptions,
  out: { write(text: string): unknown },
): Promise<number> {
  const format = readChoice(options, 'output', ['yaml', 'json']);
  const found = definitions(options.required('api-group'));
  if (format === 'json') {
    const list = { apiVersion: 'v1', kind: 'List', items: found };
    out.write(`${JSON.stringify(list, null, 2)}\n`);
  } else {
    out.write(found.map((one) => `---\n${stringify(one, { lineWidth: 0 })}`).join(''));
  }
  return 0;
}

function definitions(group: string): JsonObject[] {
  return buildKindTable(group)
    .kinds.map(customResourceDefinition)
    .filter((definition) => definition !== undefined);
}
