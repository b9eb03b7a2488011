import type { JsonObject, KubeObject } from '../apimachinery/index.ts';

/** The result of patches as an object. A patch may have removed fields of its envelope. */
export function toKubeObject(json: JsonObject): KubeObject {
  return json as KubeObject;
}
