/** Bodies that clients with Go types may send in protobuf, and everybody in JSON or YAML. */
import { bodyFormatOf, decodeBody, mediaTypeOf } from './body.ts';
import type { DecodedText } from './json-input.ts';
import { decodeProtobuf, type MessageShape, PROTOBUF_TYPE } from './protobuf-input.ts';

/** `shape`: undefined where there is no such form, which is 415. Throws 400, 413 and 415. */
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
