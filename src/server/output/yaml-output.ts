/** YAML answers, in the style of kubectl. */
import { type ScalarTag, stringify } from 'yaml';

/** Numbers with underscores exist for go-yaml in more forms than for others. */
const UNDERSCORED_NUMBER: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+.\d][\w.+-]*_[\w.+-]*$/,
  resolve: (text) => text,
};

/**
 * Keys sorted, as kubectl shows them; text that any version of YAML could take for something else
 * is quoted, so that go-yaml and the readers of YAML 1.2 read back the same values.
 */
export function toYaml(value: unknown): string {
  return stringify(value, {
    schema: 'yaml-1.1',
    customTags: (tags) => [...tags, UNDERSCORED_NUMBER],
    compat: 'core',
    merge: true,
    lineWidth: 0,
    aliasDuplicateObjects: false,
    sortMapEntries: true,
  });
}
