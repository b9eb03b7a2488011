/** Kubernetes objects as plain JSON, for patches and reports. Both directions share the value. */
import type { JsonObject, KubeObject } from '../apimachinery/index.ts';

export function toJson(object: KubeObject): JsonObject {
  return object as object as JsonObject;
}

export function toKubeObject(json: JsonObject): KubeObject {
  return json as object as KubeObject;
}
