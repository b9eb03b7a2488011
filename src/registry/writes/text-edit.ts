/** Replacement of the text of one document in its file. The other documents stay, byte for byte. */
import type { ObjectKey } from '../../apimachinery/index.ts';
import { splitStream } from '../../manifests/index.ts';
import { conflictWithRepository } from './repository-conflict.ts';

export interface TextEdit {
  /** The document that the text was made from; another one in git is a conflict. */
  readonly base: string;
  readonly text: string;
  /** The file is the spec of its object. Otherwise the manifest of the admitted write is spliced in. */
  readonly isVerbatim: boolean;
}

/** Throws 409 if the document changed, or the text would change others. */
export function replaceDocument(
  file: string,
  {
    key,
    index,
    edit,
  }: {
    readonly key: ObjectKey;
    readonly index: number;
    readonly edit: TextEdit;
  },
): string {
  const slices = splitStream(file);
  const slice = slices[index];
  if (slice === undefined || file.slice(slice.start, slice.end) !== edit.base) {
    throw conflictWithRepository(key, 'its text in git changed since it was read; read it again');
  }
  const edited = file.slice(0, slice.start) + edit.text + file.slice(slice.end);
  const rest = (text: string): readonly string[] =>
    splitStream(text).flatMap(({ start, end }, at) =>
      at === index ? [] : [text.slice(start, end)],
    );
  const isAlone = JSON.stringify(rest(edited)) === JSON.stringify(rest(file));
  if (!isAlone) {
    throw conflictWithRepository(
      key,
      'the text would change the next document of its file; end it with a line break, and begin it with "---" as before',
    );
  }
  return edited;
}
