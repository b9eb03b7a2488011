/** What kinds are, their facts and their columns, as tables. */
import { apiVersionOf, DEFAULT_API_GROUP, type Kind } from '../src/kinds/kind.ts';
import { schemaTree } from '../src/kinds/schema/schema-files.ts';
import { buildKindTable } from '../src/kinds/table.ts';
import { table } from './markdown-table.ts';

const KINDS = buildKindTable(DEFAULT_API_GROUP).kinds;

function kindNamed(name: string): Kind {
  const kind = KINDS.find(({ singular }) => singular === name);
  if (kind === undefined) throw new Error(`There is no kind "${name}"`);
  return kind;
}

/** `folder`: where the pages of the kinds are, seen from the page that holds the table. */
export function kindTable(folder: string): string {
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

export function factTable(name: string): string {
  const kind = kindNamed(name);
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

export function columnTable(name: string): string {
  const rows = kindNamed(name).columns.map(({ name, priority = 0, description }) => [
    name,
    priority === 0 ? 'always' : '`-o wide`',
    description,
  ]);
  return table(['Column', 'Shown', 'What it says'], rows);
}
