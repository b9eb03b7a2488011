/** Bodies in JSON, YAML or, for kinds with Go types, protobuf. */
import { bodyFormatOf, decodeBody, mediaTypeOf } from './body.ts';
import type { DecodedText } from './json-input.ts';
import { decodeProtobuf, type MessageShape, PROTOBUF_TYPE } from './protobuf-input.ts';

/** `shape`: undefined if the kind has no protobuf form. Throws 400, 413 and 415. */
export function decodeTypedBody(
  body: Buffer,
  contentType: string | undefined,
  shape: MessageShape | undefined,
): DecodedText {
  if (shape !== undefined && mediaTypeOf(contentType) === PROTOBUF_TYPE) {
    return { value: decodeProtobuf(body, shape), duplicates: [] };
  }
  return decodeBody(body, bodyFormatOf(contentType));
}
