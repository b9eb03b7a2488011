/** The manifest of an object as it stands in git, with comments; else the object as YAML. */
import type { JSX } from 'preact';
import { Code } from '../components/code.tsx';
import { ErrorNotice, Loading, Notice, Panel, Revision } from '../components/parts.tsx';
import { useLoad } from '../load.ts';
import { at, momentOf } from '../location.ts';
import { client } from '../session.ts';
import type { ObjectTabProps } from './object-tab.ts';

export function ObjectSourceView({ resource, of, object }: ObjectTabProps): JSX.Element {
  const hasSource = resource.subresources.includes('source');
  const source = useLoad(
    async () => (hasSource ? await client.source(resource, of, momentOf(at.value)) : undefined),
    [at.value, object?.metadata.resourceVersion],
  );
  const text = source.value?.text;
  if (source.isLoading && source.value === undefined) return <Loading />;
  if (hasSource && source.error === undefined && text !== undefined) {
    const { path, line, revision } = source.value ?? { path: '', line: 1, revision: '' };
    return (
      <Panel title={path} flush aside={<Revision id={revision} />}>
        <Code text={text} firstLine={line} label={`${path}, as in git`} />
      </Panel>
    );
  }
  return <ObjectYaml resource={resource} of={of} object={object} />;
}

function ObjectYaml({ resource, of }: ObjectTabProps): JSX.Element {
  const yaml = useLoad(() => client.getYaml(resource, of, momentOf(at.value)), [at.value]);
  if (yaml.error !== undefined) return <ErrorNotice error={yaml.error} />;
  if (yaml.value === undefined) return <Loading />;
  return (
    <>
      <Notice tone="info">
        <p>
          This is the object as the API shows it. Its manifest in git, with comments, takes the
          right to clone the repository.
        </p>
      </Notice>
      <Panel title="Object" flush>
        <Code text={yaml.value} label="The object as YAML" />
      </Panel>
    </>
  );
}
